package httpapi

import (
	"context"
	"net/http"
	"regexp"
	"strings"

	"github.com/pgbox/pgbox/gateway/sandbox"
)

const imagesPath = "/v1/images"

type imageBody struct {
	ID        string       `json:"id"`
	Name      string       `json:"name"`
	Tag       string       `json:"tag"`
	Owner     string       `json:"owner"`
	Usage     sandboxUsage `json:"usage"`
	CreatedAt string       `json:"createdAt" format:"date-time"`
}

type imageOutput struct{ Body imageBody }

type imagesOutput struct {
	Body struct {
		Images []imageBody `json:"images"`
	}
}

type createImageInput struct {
	Body struct {
		Sandbox string `json:"sandbox" required:"true" doc:"id of the sandbox whose tree it is"`
		At      string `json:"at,omitempty" maxLength:"300" doc:"an earlier state of it: a snapshot by name or id, @base, a version or a time"`
		Image   string `json:"image" required:"true" doc:"name or name:tag; by default the tag is latest"`
		Replace bool   `json:"replace,omitempty" doc:"an image of yours of that name and tag makes room"`
	}
}

type listImagesInput struct {
	Name string `query:"name" doc:"only those of this name"`
}

type tagImageInput struct {
	Body struct {
		Image string `json:"image" required:"true" doc:"name or name:tag of an image"`
		As    string `json:"as" required:"true" doc:"another name or name:tag for it; moves when it is there already and yours"`
	}
}

type dropImageInput struct {
	Image string `query:"image" required:"true" doc:"name or name:tag"`
}

func (s *server) imageRoutes() {
	create := operation(http.MethodPost, imagesPath, "createImage", "Make an image of a sandbox; nothing is copied",
		"images", false)
	create.DefaultStatus = http.StatusCreated
	handle(s, create, s.createImage)
	handle(s, operation(http.MethodGet, imagesPath, "listImages", "List the images of your tenant", "images", false),
		s.listImages)
	handle(s, operation(http.MethodPost, imagesPath+"/tag", "tagImage", "Give an image another name and tag too", "images",
		false), s.tagImage)
	drop := operation(http.MethodDelete, imagesPath, "deleteImage",
		"Forget a name and tag of an image; the sandboxes made of it stay", "images", false)
	drop.DefaultStatus = http.StatusNoContent
	handle(s, drop, func(ctx context.Context, in *dropImageInput) (*struct{}, error) {
		return nil, s.Service.DropImage(ctx, caller(ctx, "image"), in.Image)
	})
}

// imageName is what the database accepts, too: a name, perhaps with a tag.
var imageName = regexp.MustCompile(`^([a-z0-9][a-z0-9._/-]{0,127})(?::([A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?$`)

func splitImage(ctx context.Context, field, image string) (name, tag string, err error) {
	m := imageName.FindStringSubmatch(image)
	if m == nil {
		return "", "", invalidInput(ctx, field+": want a name in lower case, or name:tag")
	}
	return m[1], m[2], nil
}

func describeImage(i *sandbox.Image) imageBody {
	return imageBody{i.ID.String(), i.Name, i.Tag, i.Owner, sandboxUsage{i.UsedBytes, i.UsedInodes},
		sandbox.Timestamp(i.CreatedAt)}
}

func (s *server) createImage(ctx context.Context, in *createImageInput) (*imageOutput, error) {
	id, err := sandbox.ParseID(in.Body.Sandbox)
	if err != nil {
		return nil, err
	}
	name, tag, err := splitImage(ctx, "image", in.Body.Image)
	if err != nil {
		return nil, err
	}
	i, err := s.Service.CreateImage(ctx, caller(ctx, "image"), id, name, tag, in.Body.At, in.Body.Replace)
	if err != nil {
		return nil, err
	}
	return &imageOutput{describeImage(i)}, nil
}

func (s *server) listImages(ctx context.Context, in *listImagesInput) (*imagesOutput, error) {
	list, err := s.Service.Images(ctx, caller(ctx, "image"), strings.TrimSpace(in.Name))
	if err != nil {
		return nil, err
	}
	out := new(imagesOutput)
	out.Body.Images = make([]imageBody, len(list))
	for i := range list {
		out.Body.Images[i] = describeImage(&list[i])
	}
	return out, nil
}

func (s *server) tagImage(ctx context.Context, in *tagImageInput) (*imageOutput, error) {
	name, tag, err := splitImage(ctx, "as", in.Body.As)
	if err != nil {
		return nil, err
	}
	i, err := s.Service.TagImage(ctx, caller(ctx, "image"), in.Body.Image, name, tag)
	if err != nil {
		return nil, err
	}
	return &imageOutput{describeImage(i)}, nil
}
