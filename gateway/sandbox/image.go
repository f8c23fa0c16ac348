package sandbox

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/gateway/wire"
)

// Image is a tree that sandboxes start from.
type Image = store.Image

// CreateImage makes an image of a sandbox as it is or was (at as in Caller.At). With replace the caller's image of that
// name and tag makes room.
func (s *Service) CreateImage(
	ctx context.Context, c Caller, id uuid.UUID, name, tag, at string, replace bool,
) (*Image, error) {
	return verb(ctx, s, c, id, "image create "+name+":"+tag, func(ctx context.Context, f *store.Fence,
		row store.Exec) (*Image, error) {
		state, err := stateName(at)
		if err != nil {
			return nil, err
		}
		image, err := s.store.CreateImage(ctx, id, name, tag, state, replace, row)
		switch {
		case at != "" && errors.Is(err, vfs.ENOENT):
			err = errNoState(at, err)
		case errors.Is(err, vfs.EEXIST):
			err = newError(wire.CodeEEXIST, err, "there is an image of that name and tag already: "+name)
		case err == nil:
			s.sealed(ctx, f)
		}
		return image, err
	})
}

// Images lists the images of the caller's tenant, or those of one name.
func (s *Service) Images(ctx context.Context, c Caller, name string) ([]Image, error) {
	return call(ctx, s, func(ctx context.Context) ([]Image, error) { return s.store.ListImages(ctx, c.Tenant, name) })
}

// TagImage gives an image (name or name:tag) another name and tag too.
func (s *Service) TagImage(ctx context.Context, c Caller, image, name, tag string) (*Image, error) {
	return tenantVerb(ctx, s, c, "image tag "+image+" "+name+":"+tag,
		func(ctx context.Context, e store.Exec) (*Image, error) {
			i, err := s.store.TagImage(ctx, c.Tenant, c.Subject, image, name, tag, e)
			return i, noImage(image, err)
		})
}

// DropImage forgets an image (name or name:tag) of the caller's.
func (s *Service) DropImage(ctx context.Context, c Caller, image string) error {
	_, err := tenantVerb(ctx, s, c, "image rm "+image, func(ctx context.Context, e store.Exec) (struct{}, error) {
		return struct{}{}, noImage(image, s.store.DropImage(ctx, c.Tenant, c.Subject, image, e))
	})
	return err
}
