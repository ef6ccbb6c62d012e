package store

import (
	"cloud.google.com/go/storage"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"gocloud.dev/blob"
)

// etagOf returns the ETag of a listed object, "" if the store does not list it.
func etagOf(o *blob.ListObject) string {
	var s3 types.Object
	var gs storage.ObjectAttrs
	var az container.BlobItem
	switch {
	case o.As(&s3) && s3.ETag != nil:
		return *s3.ETag
	case o.As(&gs):
		return gs.Etag
	case o.As(&az) && az.Properties != nil && az.Properties.ETag != nil:
		return string(*az.Properties.ETag)
	}
	return ""
}
