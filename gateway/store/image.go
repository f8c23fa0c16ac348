package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgbox/pgbox/sqlcgen"
)

func imageOf(r *sqlcgen.FsImage) *Image {
	return &Image{ID: r.ID, Owner: r.Owner, Name: r.Name, Tag: r.Tag, UsedBytes: r.UsedBytes, UsedInodes: r.UsedInodes,
		CreatedAt: r.CreatedAt}
}

// CreateImage makes an image of a sandbox as it is or was; EEXIST when name and tag are taken, unless replace is set.
func (s *Store) CreateImage(
	ctx context.Context, sandbox uuid.UUID, name, tag, at string, replace bool, by Exec,
) (*Image, error) {
	var r sqlcgen.FsImage
	err := s.write(ctx, "create_image", &by, func(ctx context.Context, q *sqlcgen.Queries) (err error) {
		r, err = q.CreateImage(ctx, sqlcgen.CreateImageParams{Sandbox: sandbox, Name: name, Tag: given(tag), At: given(at),
			Replace: replace})
		return err
	})
	if err != nil {
		return nil, err
	}
	return imageOf(&r), nil
}

// ListImages returns the images of a tenant, or those of one name, the newest of a name first.
func (s *Store) ListImages(ctx context.Context, tenant, name string) ([]Image, error) {
	var rows []sqlcgen.FsImage
	err := s.read(ctx, "list_images", func(ctx context.Context, c *pgxpool.Conn) (err error) {
		rows, err = sqlcgen.New(c).ListImages(ctx, sqlcgen.ListImagesParams{Tenant: tenant, Name: given(name)})
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]Image, len(rows))
	for i := range rows {
		out[i] = *imageOf(&rows[i])
	}
	return out, nil
}

// TagImage gives an image (name or name:tag) another name and tag too; EPERM when they are somebody else's.
func (s *Store) TagImage(ctx context.Context, tenant, owner, image, name, tag string, by Exec) (*Image, error) {
	var r sqlcgen.FsImage
	err := s.write(ctx, "tag_image", &by, func(ctx context.Context, q *sqlcgen.Queries) (err error) {
		r, err = q.TagImage(ctx, sqlcgen.TagImageParams{Tenant: tenant, Owner: owner, Image: image, Name: name,
			Tag: given(tag)})
		return err
	})
	if err != nil {
		return nil, err
	}
	return imageOf(&r), nil
}

// DropImage forgets an image (name or name:tag); the sandboxes made of it stay.
func (s *Store) DropImage(ctx context.Context, tenant, owner, image string, by Exec) error {
	return s.write(ctx, "drop_image", &by, func(ctx context.Context, q *sqlcgen.Queries) error {
		return q.DropImage(ctx, sqlcgen.DropImageParams{Tenant: tenant, Owner: owner, Image: image})
	})
}
