package store

import (
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"gocloud.dev/blob"
)

// etags return the ETag of a listed object, "" if it is another store's. gocloud.dev does not tell it.
var etags = []func(*blob.ListObject) string{func(o *blob.ListObject) string {
	var s3 types.Object
	if !o.As(&s3) || s3.ETag == nil {
		return ""
	}
	return *s3.ETag
}}

// etagOf returns the ETag of a listed object, "" if the store does not list it.
func etagOf(o *blob.ListObject) string {
	for _, of := range etags {
		if etag := of(o); etag != "" {
			return etag
		}
	}
	return ""
}
