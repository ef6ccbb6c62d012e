package functions

import (
	"errors"

	"github.com/tpconvert/tpconvert/sqlfuncs/functions/define"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// defineRefused defines functions that statements may name but that cannot work.
func defineRefused(d *define.Definer) {
	for name, args := range map[string]int{"export_json": 1, "__intrinsic_file_write": 2} {
		d.Scalar(name, args, func(sqlite.Context, []sqlite.Value) error {
			return errors.New(name + ": statements cannot write files")
		})
	}
	d.Scalar("__intrinsic_video_frame_au_data", 1, func(_ sqlite.Context, args []sqlite.Value) error {
		if args[0].IsNull() {
			return nil
		}
		return errors.New("__intrinsic_video_frame_au_data: a dataset does not have the bytes of video frames")
	})
}
