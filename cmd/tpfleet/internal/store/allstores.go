//go:build allstores

package store

import (
	"cloud.google.com/go/storage"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	_ "github.com/apache/iceberg-go/io/gocloud/azure"
	_ "github.com/apache/iceberg-go/io/gocloud/gcs"
	"gocloud.dev/blob"
	_ "gocloud.dev/blob/azureblob"
	_ "gocloud.dev/blob/gcsblob"
)

func init() {
	etags = append(etags, func(o *blob.ListObject) string {
		var gs storage.ObjectAttrs
		var az container.BlobItem
		switch {
		case o.As(&gs):
			return gs.Etag
		case o.As(&az) && az.Properties != nil && az.Properties.ETag != nil:
			return string(*az.Properties.ETag)
		}
		return ""
	})
}
