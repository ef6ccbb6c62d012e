package functions

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/functions/define"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// systemUsers are the names of Android's own user ids, from 1000 on.
var systemUsers = strings.Fields(`
SYSTEM_USER RADIO BLUETOOTH GRAPHICS INPUT AUDIO CAMERA LOG COMPASS MOUNT WIFI ADB INSTALL MEDIA DHCP SDCARD_RW VPN KEYSTORE
USB DRM MDNSR GPS UNUSED1 MEDIA_RW MTP UNUSED2 DRMRPC NFC SDCARD_R CLAT LOOP_RADIO MEDIA_DRM PACKAGE_INFO SDCARD_PICS SDCARD_AV
SDCARD_ALL LOGD SHARED_RELRO DBUS TLSDATE MEDIA_EX AUDIOSERVER METRICS_COLL METRICSD WEBSERV DEBUGGERD MEDIA_CODEC CAMERASERVER
FIREWALL TRUNKS NVRAM DNS DNS_TETHER WEBVIEW_ZYGOTE VEHICLE_NETWORK MEDIA_AUDIO MEDIA_VIDEO MEDIA_IMAGE TOMBSTONED MEDIA_OBB ESE
OTA_UPDATE AUTOMOTIVE_EVS LOWPAN HSM RESERVED_DISK STATSD INCIDENTD SECURE_ELEMENT LMKD LLKD IORAPD GPU_SERVICE NETWORK_STACK
GSID FSVERITY_CERT CREDSTORE EXTERNAL_STORAGE EXT_DATA_RW EXT_OBB_RW CONTEXT_HUB VIRTMANAGER ARTD UWB THREAD_NETWORK DICED
DMESGD JC_WEAVER JC_STRONGBOX JC_IDENTITYCRED SDK_SANDBOX SECURITY_LOG_WRITER PRNG_SEEDER UPROBESTATS`)

// systemUser returns the name of a user id of Android that no app has, or "".
func systemUser(app uint32) string {
	switch {
	case app == 0:
		return "AID_ROOT"
	case app >= 1000 && app < 1000+uint32(len(systemUsers)):
		return "AID_" + systemUsers[app-1000]
	case app == 2000:
		return "AID_SHELL"
	case app == 2001:
		return "AID_CACHE"
	case app == 2002:
		return "AID_DIAG"
	case app == 9999:
		return "AID_NOBODY"
	case app >= 50000 && app < 60000:
		return "SHARED_GID"
	case app >= 90000:
		return "ISOLATED_UID"
	}
	return ""
}

// packageNames are the names of Android's packages by user id.
type packageNames map[uint32]string

// readPackages reads the list of packages. Of several with one user id, that of GMS comes first and those of providers last.
func readPackages(tables dataframe.Source) (*packageNames, error) {
	var uid, name dataframe.Reader
	f, err := define.Columns(tables, "package_list", define.Readers{"uid": &uid, "package_name": &name})
	if err != nil {
		return nil, err
	}
	names, ranks := packageNames{}, map[uint32]int{}
	for row := range f.Rows {
		rank := 2
		if strings.HasPrefix(name.Text(row), "com.android.providers.") {
			rank = 1
		} else if name.Text(row) == "com.google.android.gms" {
			rank = 3
		}
		if id := uint32(uid.Int(row)); rank > ranks[id] {
			names[id], ranks[id] = name.Text(row), rank
		}
	}
	return &names, nil
}

func definePackages(d *define.Definer) {
	const function = "_intrinsic_package_lookup"
	load := define.Once(func() (*packageNames, error) { return readPackages(d.Tables) })
	d.Scalar(function, 1, func(c sqlite.Context, args []sqlite.Value) error {
		switch args[0].Type() {
		case sqlite.Null:
			return nil
		case sqlite.Integer:
		default:
			return errors.New(function + ": the argument is no user id")
		}
		uid := uint32(args[0].Int())
		app := uid % 100000 // the rest is the user of the phone
		name := ""
		if app >= 10000 {
			names, err := load()
			if err != nil {
				return fmt.Errorf("%s: %w", function, err)
			}
			name = (*names)[app]
		}
		if name == "" {
			name = systemUser(app)
		}
		if name == "" {
			name = fmt.Sprintf("uid=%d", uid)
		}
		c.Text(name)
		return nil
	})
}
