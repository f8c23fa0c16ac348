package httpapi

import (
	"net/http"
	"testing"

	"github.com/google/uuid"
)

const testAdminSecret = "the secret of administrators"

// Limits of sandbox, owner and tenant are set, shown and kept to, and each counts only what is under it.
func TestQuotaRoutes(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	admin := newAPI(t) // attempts are limited by token
	put := func(in object) answer {
		admin.token = admin.tokenOf(uuid.NewString(), admin.tenant)
		return admin.do(http.MethodPut, quotaPath, in, "X-Admin-Secret", testAdminSecret)
	}
	get := func() (out quotaOutput) {
		t.Helper()
		out.Body = into[struct {
			Tenant      string     `json:"tenant"`
			Owner       string     `json:"owner,omitempty"`
			TenantQuota quotaBody  `json:"tenantQuota" doc:"what all sandboxes of the tenant hold, and may"`
			OwnerQuota  *quotaBody `json:"ownerQuota,omitempty" doc:"what all sandboxes of the owner hold, and may"`
		}](t, a.do(http.MethodGet, quotaPath, nil))
		return out
	}
	one, two := a.sandbox(object{}), a.sandbox(object{})
	a.exec(one, "echo 12345 > f")
	q := get().Body
	if q.Tenant != a.tenant || q.Owner != "alice" || q.OwnerQuota == nil || q.OwnerQuota.Bytes != 6 ||
		q.OwnerQuota.Sandboxes != 2 || q.OwnerQuota.MaxBytes != nil || q.TenantQuota.Inodes != 1 {
		t.Fatalf("%+v", q)
	}

	a.want(a.do(http.MethodPut, quotaPath, object{"tenant": a.tenant, "maxBytes": 1}), http.StatusForbidden, "FORBIDDEN")
	a.want(a.do(http.MethodPut, quotaPath, object{"tenant": a.tenant, "maxBytes": 1}, "X-Admin-Secret", testSecret),
		http.StatusForbidden, "FORBIDDEN")
	a.want(put(object{"tenant": a.tenant, "maxBytes": -1}), http.StatusBadRequest, "INVALID_INPUT")
	if got := put(object{"tenant": a.tenant, "owner": "alice", "maxBytes": 10,
		"maxSandboxes": 2}); got.status != http.StatusOK {
		t.Fatalf("%+v", got)
	}
	if q := get().Body; *q.OwnerQuota.MaxBytes != 10 || *q.OwnerQuota.MaxSandboxes != 2 || q.TenantQuota.MaxBytes != nil {
		t.Errorf("%+v", q)
	}
	over := func(id, script string) {
		t.Helper()
		before := a.version(id)
		e := a.want(a.do(http.MethodPost, sandboxesPath+"/"+id+"/exec-sync", object{"script": script}),
			http.StatusRequestEntityTooLarge, "EDQUOT")
		if e.Applied != "no" || a.version(id) != before {
			t.Errorf("%+v, version %v, was %v", e, a.version(id), before)
		}
	}
	over(two, "echo 12345 > f")
	a.want(a.do(http.MethodPost, sandboxesPath, object{}), http.StatusRequestEntityTooLarge, "EDQUOT")
	a.exec(two, "echo 123 > f") // just so

	// Another owner of the tenant is bound by the tenant's quota only, another tenant by neither.
	alice := a.token
	a.token = a.tokenOf("bob", a.tenant)
	bobs := a.sandbox(object{})
	a.exec(bobs, "echo 1234567890 > f")
	put(object{"tenant": a.tenant, "maxBytes": 25})
	over(bobs, "echo 12345 > g")
	a.exec(bobs, "echo 123 > g")
	if q := get().Body; q.OwnerQuota.Bytes != 15 || q.TenantQuota.Bytes != 25 || *q.TenantQuota.MaxBytes != 25 {
		t.Errorf("%+v", q)
	}
	tenant := a.tenant
	a.tenant = uuid.NewString()
	a.token = a.tokenOf("alice", a.tenant)
	a.exec(a.sandbox(object{}), "echo 123456789012345678901234567890 > f")
	if q := get().Body; q.TenantQuota.Bytes != 31 || q.TenantQuota.MaxBytes != nil || q.OwnerQuota.MaxBytes != nil {
		t.Errorf("%+v", q)
	}

	// Without limits there is no quota any more, and who was over may go on.
	a.tenant, a.token = tenant, alice
	put(object{"tenant": tenant})
	put(object{"tenant": tenant, "owner": "alice"})
	a.exec(two, "echo 12345 > f")
}
