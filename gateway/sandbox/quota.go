package sandbox

import (
	"context"

	"github.com/pgbox/pgbox/gateway/store"
)

// Quota is what all sandboxes of an owner together, or of a tenant, may hold.
type Quota = store.Quota

// Holding is what they hold, and may.
type Holding = store.Holding

// Quota returns what a tenant holds and, unless owner is empty, one of its owners.
func (s *Service) Quota(ctx context.Context, tenant, owner string) (ofTenant, ofOwner *Holding, err error) {
	list, err := call(ctx, s, func(ctx context.Context) ([]Holding, error) { return s.store.Quota(ctx, tenant, owner) })
	if err != nil {
		return nil, nil, err
	}
	if len(list) > 1 {
		ofOwner = &list[1]
	}
	return &list[0], ofOwner, nil
}

// SetQuota sets the quota of an owner, or (owner "") of a tenant. Nothing that is there already goes. It is for
// administrators: no caller is asked for.
func (s *Service) SetQuota(ctx context.Context, tenant, owner string, q Quota) error {
	admin := Caller{Tenant: tenant, Route: "quota"}
	_, err := tenantVerb(ctx, s, admin, "quota set "+owner, func(ctx context.Context, row store.Exec) (struct{}, error) {
		return struct{}{}, s.store.SetQuota(ctx, tenant, owner, q, row)
	})
	return err
}
