package store

import (
	"context"
	"maps"
	"net/url"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// Labels returns the metadata of an object, and its tags if the store is S3. Tags count first.
func (s *Stores) Labels(ctx context.Context, text string) (labels map[string]string, err error) {
	err = s.with(ctx, text, func(b *blob.Bucket, key string) error {
		attributes, err := b.Attributes(ctx, key)
		if err != nil {
			return err
		}
		labels = maps.Clone(attributes.Metadata)
		var client *s3.Client
		if !b.As(&client) {
			return nil
		}
		u, err := url.Parse(text)
		if err != nil {
			return err
		}
		tags, err := client.GetObjectTagging(ctx, &s3.GetObjectTaggingInput{Bucket: &u.Host, Key: &key})
		if err != nil {
			return err
		}
		if labels == nil {
			labels = map[string]string{}
		}
		for _, t := range tags.TagSet {
			labels[*t.Key] = *t.Value
		}
		return nil
	})
	return labels, err
}

// ReadIf returns the content of an object, nil if there is none.
func (s *Stores) ReadIf(ctx context.Context, text string) ([]byte, error) {
	content, err := s.Read(ctx, text)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return nil, nil
	}
	return content, err
}
