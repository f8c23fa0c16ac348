package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/pgbox/pgbox/gateway/auth"
	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/wire"
)

const quotaPath = "/v1/quota"

type quotaBody struct {
	MaxBytes     *int64 `json:"maxBytes,omitempty" minimum:"0" doc:"of all files; absent: no limit"`
	MaxInodes    *int64 `json:"maxInodes,omitempty" minimum:"0" doc:"files, directories and symlinks; absent: no limit"`
	MaxSnapshots *int64 `json:"maxSnapshots,omitempty" minimum:"0" doc:"absent: no limit"`
	MaxSandboxes *int64 `json:"maxSandboxes,omitempty" minimum:"0" doc:"absent: no limit"`
	Bytes        int64  `json:"bytes"`
	Inodes       int64  `json:"inodes"`
	Snapshots    int64  `json:"snapshots"`
	Sandboxes    int64  `json:"sandboxes"`
}

type quotaOutput struct {
	Body struct {
		Tenant      string     `json:"tenant"`
		Owner       string     `json:"owner,omitempty"`
		TenantQuota quotaBody  `json:"tenantQuota" doc:"what all sandboxes of the tenant hold, and may"`
		OwnerQuota  *quotaBody `json:"ownerQuota,omitempty" doc:"what all sandboxes of the owner hold, and may"`
	}
}

type setQuotaInput struct {
	Body struct {
		MaxBytes     *int64 `json:"maxBytes,omitempty" minimum:"0" doc:"of all files; absent: no limit"`
		MaxInodes    *int64 `json:"maxInodes,omitempty" minimum:"0" doc:"files, directories and symlinks; absent: no limit"`
		MaxSnapshots *int64 `json:"maxSnapshots,omitempty" minimum:"0" doc:"absent: no limit"`
		MaxSandboxes *int64 `json:"maxSandboxes,omitempty" minimum:"0" doc:"absent: no limit"`
		Tenant       string `json:"tenant,omitempty" maxLength:"256" doc:"by default the tenant of tokens that name none"`
		Owner        string `json:"owner,omitempty" maxLength:"256" doc:"by default the quota is that of the tenant"`
	}
}

func (s *server) quotaRoutes() {
	handle(s, operation(http.MethodGet, quotaPath, "getQuota", "What the caller's sandboxes hold together, and may",
		"sandboxes", false),
		func(ctx context.Context, _ *struct{}) (*quotaOutput, error) {
			c := caller(ctx, "quota")
			return s.quota(ctx, c.Tenant, c.Subject)
		})
	set := operation(http.MethodPut, quotaPath, "setQuota",
		"Set what all sandboxes of a tenant, or of an owner, may hold together, as an administrator; without a limit there is none", "sandboxes", false)
	set.Middlewares = huma.Middlewares{s.secretGate("X-Admin-Secret", s.AdminSecret, wire.CodeAdminNotConfigured)}
	handle(s, set, func(ctx context.Context, in *setQuotaInput) (*quotaOutput, error) {
		tenant := in.Body.Tenant
		if tenant == "" {
			tenant = auth.DefaultTenant
		}
		l := &in.Body
		q := sandbox.Quota{MaxBytes: l.MaxBytes, MaxInodes: l.MaxInodes, MaxSnapshots: l.MaxSnapshots,
			MaxSandboxes: l.MaxSandboxes}
		if err := s.Service.SetQuota(ctx, tenant, in.Body.Owner, q); err != nil {
			return nil, err
		}
		return s.quota(ctx, tenant, in.Body.Owner)
	})
}

func (s *server) quota(ctx context.Context, tenant, owner string) (*quotaOutput, error) {
	ofTenant, ofOwner, err := s.Service.Quota(ctx, tenant, owner)
	if err != nil {
		return nil, err
	}
	describe := func(h *sandbox.Holding) quotaBody {
		return quotaBody{h.MaxBytes, h.MaxInodes, h.MaxSnapshots, h.MaxSandboxes, h.Bytes, h.Inodes, h.Snapshots, h.Sandboxes}
	}
	out := new(quotaOutput)
	out.Body.Tenant, out.Body.Owner, out.Body.TenantQuota = tenant, owner, describe(ofTenant)
	if ofOwner != nil {
		o := describe(ofOwner)
		out.Body.OwnerQuota = &o
	}
	return out, nil
}
