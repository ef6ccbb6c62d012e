package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/lake"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/store"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/export"
)

// servers are an S3 gateway and a catalog on this machine, shared by all tests. "make fleet-test" says in the
// environment where their programs are.
type servers struct {
	root    string // folder with a folder for each bucket
	s3      string // host and port
	catalog string // URL
	stop    []func()
}

var (
	running      *servers
	startServers = sync.OnceValues(newServers)
)

const accessKey, secretKey = "fleet", "fleetsecret"

// needServers returns the servers, or skips the test.
func needServers(t *testing.T) *servers {
	t.Helper()
	if os.Getenv("FLEET_NESSIE") == "" {
		t.Skip("THE FLEET'S TABLES ARE NOT TESTED: \"make fleet-test\" starts the servers for this")
	}
	s, err := startServers()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newServers() (*servers, error) {
	root, err := os.MkdirTemp("", "tpfleet-servers-")
	if err != nil {
		return nil, err
	}
	s := &servers{root: filepath.Join(root, "s3"), s3: freeAddress()}
	running = s
	s.stop = append(s.stop, func() { os.RemoveAll(root) })
	for _, bucket := range []string{"lake", "traces"} {
		if err := os.MkdirAll(filepath.Join(s.root, bucket), 0o755); err != nil {
			return nil, err
		}
	}
	gateway := exec.Command(os.Getenv("FLEET_VERSITYGW"), "--port", s.s3, "posix", s.root)
	gateway.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+accessKey, "ROOT_SECRET_KEY="+secretKey)
	if err := s.begin(gateway, filepath.Join(root, "s3.log")); err != nil {
		return nil, err
	}
	address, management := freeAddress(), freeAddress()
	properties := []string{"-Xmx512m", "-XX:TieredStopAtLevel=1"}
	for key, value := range map[string]string{
		"quarkus.http.host": "127.0.0.1", "quarkus.http.port": port(address),
		"quarkus.management.host": "127.0.0.1", "quarkus.management.port": port(management),
		"nessie.version.store.type":                                         "IN_MEMORY",
		"nessie.catalog.default-warehouse":                                  "lake",
		"nessie.catalog.warehouses.lake.location":                           "s3://lake/wh",
		"nessie.catalog.service.s3.default-options.endpoint":                "http://" + s.s3,
		"nessie.catalog.service.s3.default-options.region":                  "us-east-1",
		"nessie.catalog.service.s3.default-options.path-style-access":       "true",
		"nessie.catalog.service.s3.default-options.request-signing-enabled": "false",
		"nessie.catalog.service.s3.default-options.access-key":              "urn:nessie-secret:quarkus:keys.s3",
		"keys.s3.name": accessKey, "keys.s3.secret": secretKey,
	} {
		properties = append(properties, "-D"+key+"="+value)
	}
	nessie := exec.Command(os.Getenv("FLEET_JAVA"), append(properties, "-jar", os.Getenv("FLEET_NESSIE"))...)
	if err := s.begin(nessie, filepath.Join(root, "nessie.log")); err != nil {
		return nil, err
	}
	s.catalog = "http://" + address + "/iceberg"
	return s, waitForCatalog(s.catalog, filepath.Join(root, "nessie.log"))
}

func waitForCatalog(catalog, log string) error {
	return waitFor(catalog+"/v1/config?warehouse=lake", `"overrides"`, log)
}

// waitFor waits until a server answers with a text that contains ready.
func waitFor(url, ready, log string) error {
	for begun := time.Now(); time.Since(begun) < 3*time.Minute; time.Sleep(200 * time.Millisecond) {
		if r, err := http.Get(url); err == nil {
			text, err := io.ReadAll(r.Body)
			r.Body.Close()
			if err == nil && r.StatusCode == http.StatusOK && strings.Contains(string(text), ready) {
				return nil
			}
		}
	}
	text, _ := os.ReadFile(log)
	return fmt.Errorf("%s does not answer with %s: %s", url, ready, text)
}

// withSnapshots returns servers with Iceberg's catalog for tests in place of Nessie. It lets clients expire snapshots, but
// it is not right for rival commits.
func (s *servers) withSnapshots(t *testing.T) *servers {
	t.Helper()
	dir, address := t.TempDir(), freeAddress()
	c := exec.Command(os.Getenv("FLEET_JAVA"), "-Xmx512m", "-XX:TieredStopAtLevel=1", "-jar", os.Getenv("FLEET_FIXTURE"))
	c.Env = append(os.Environ(), "CATALOG_REST_PORT="+port(address), "CATALOG_WAREHOUSE=s3://lake/fixture",
		"CATALOG_URI=jdbc:sqlite:"+filepath.Join(dir, "catalog.db"), "CATALOG_CLIENTS=1",
		"CATALOG_IO__IMPL=org.apache.iceberg.aws.s3.S3FileIO", "CATALOG_S3_ENDPOINT=http://"+s.s3, "CATALOG_S3_PATH__STYLE__ACCESS=true",
		"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID="+accessKey, "AWS_SECRET_ACCESS_KEY="+secretKey)
	other := &servers{root: s.root, s3: s.s3, catalog: "http://" + address}
	log := filepath.Join(dir, "catalog.log")
	if err := other.begin(c, log); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.stop[0]() })
	if err := waitForCatalog(other.catalog, log); err != nil {
		t.Fatal(err)
	}
	return other
}

// withTrino starts Trino for the test, with the catalog lake, and returns its URL.
func (s *servers) withTrino(t *testing.T) string {
	t.Helper()
	dir, address, program := t.TempDir(), freeAddress(), os.Getenv("FLEET_TRINO")
	for _, folder := range []string{"etc/catalog", "plugin"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// Of some 50 plugins, which all take time to start, only one is needed.
	if err := os.Symlink(filepath.Join(program, "plugin", "iceberg"), filepath.Join(dir, "plugin", "iceberg")); err != nil {
		t.Fatal(err)
	}
	lake := "connector.name=iceberg\niceberg.catalog.type=rest\niceberg.rest-catalog.uri=" + s.catalog + "\niceberg.rest-catalog.warehouse=lake\n" +
		"fs.native-s3.enabled=true\ns3.region=us-east-1\ns3.endpoint=http://" + s.s3 + "\ns3.path-style-access=true\n"
	if err := os.WriteFile(filepath.Join(dir, "etc/catalog/lake.properties"), []byte(lake), 0o644); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(os.Getenv("FLEET_TRINO_JAVA"), "-Xmx1536m", "-XX:TieredStopAtLevel=1", "--add-modules=jdk.incubator.vector",
		"-Djdk.attach.allowAttachSelf=true", "-Dnode.environment=test", "-Dnode.data-dir="+dir, "-Dnode.internal-address=127.0.0.1",
		"-Dhttp-server.http.port="+port(address), "-Ddiscovery.uri=http://"+address, "-cp", filepath.Join(program, "lib", "*"), "io.trino.server.TrinoServer")
	c.Dir = dir
	trino, log := &servers{}, filepath.Join(dir, "trino.log")
	if err := trino.begin(c, log); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { trino.stop[0]() })
	if err := waitFor("http://"+address+"/v1/info", `"starting":false`, log); err != nil {
		t.Fatal(err)
	}
	return "http://" + address
}

// begin starts a server that stop ends.
func (s *servers) begin(c *exec.Cmd, log string) error {
	out, err := os.Create(log)
	if err != nil {
		return err
	}
	c.Stdout, c.Stderr = out, out
	if err := c.Start(); err != nil {
		return err
	}
	s.stop = append([]func(){func() { c.Process.Kill(); c.Wait(); out.Close() }}, s.stop...)
	return nil
}

// freeAddress returns a loopback address that no server has.
func freeAddress() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func port(address string) string { return address[strings.LastIndex(address, ":")+1:] }

// options returns the options of a bucket.
func (s *servers) options(bucket string) string {
	return "s3://" + bucket + "?endpoint=http://" + s.s3 + "&use_path_style=true&region=us-east-1"
}

// fleet is a lake of its own: in a folder, or on the servers.
type fleet struct {
	folder string // of the lake, "" if it is on the servers
	traces string // URL of the folder of the traces
	tables string // folder of the tables
	*servers
	namespace string // that of folders may be ""
	single    bool   // its tables are committed to one at a time
}

// everywhere runs a test on a lake in a folder and, if there are servers, on one in their catalog.
func everywhere(t *testing.T, test func(t *testing.T, f *fleet)) {
	t.Run("folder", func(t *testing.T) { test(t, newFolder(t)) })
	t.Run("catalog", func(t *testing.T) { test(t, newFleet(t)) })
}

// withLedger runs a test everywhere, and with tables that are committed to one at a time.
func withLedger(t *testing.T, test func(t *testing.T, f *fleet)) {
	everywhere(t, test)
	t.Run("ledger", func(t *testing.T) { test(t, newSingle(t)) })
}

// long leaves a test out of the checks of each change.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes long: \"make fleet-test\" runs it")
	}
}

// newSingle creates tables that are committed to one at a time, with the ledger last.
func newSingle(t *testing.T) *fleet {
	t.Helper()
	f := newFleetOn(t, needServers(t).withSnapshots(t), "--single-table")
	f.single = true
	return f
}

// newFolder creates the tables in a folder.
func newFolder(t *testing.T) *fleet {
	t.Helper()
	lake := filepath.Join(t.TempDir(), "lake")
	f := &fleet{folder: lake, traces: "file://" + filepath.Join(t.TempDir(), "traces") + "/", tables: filepath.Join(lake, "traces")}
	tpfleet(t, "", "init", lake)
	return f
}

// newFleet creates the tables in a namespace of the test, on the servers.
func newFleet(t *testing.T) *fleet {
	t.Helper()
	return newFleetOn(t, needServers(t))
}

func newFleetOn(t *testing.T, s *servers, options ...string) *fleet {
	t.Helper()
	namespace := strings.ReplaceAll(strings.ToLower(t.Name()), "/", "_")
	f := &fleet{servers: s, namespace: namespace, traces: "s3://traces/" + namespace + "/", tables: filepath.Join(s.root, "lake/fixture", namespace)}
	t.Setenv("AWS_ACCESS_KEY_ID", accessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secretKey)
	t.Setenv("AWS_REGION", "us-east-1")
	t.Setenv("TPFLEET_CATALOG", f.catalog)
	t.Setenv("TPFLEET_WAREHOUSE", "lake")
	f.run(t, "", "init", options...)
	return f
}

// flags returns the flags of a command that opens the lake.
func (f *fleet) flags() []string {
	if f.folder != "" {
		return []string{"--lake", f.folder, "--namespace", cmp.Or(f.namespace, "traces")}
	}
	return []string{"--namespace", f.namespace, "--store", f.options("lake"), "--store", f.options("traces")}
}

// run runs a command that opens the lake.
func (f *fleet) run(t *testing.T, stdin string, name string, args ...string) string {
	t.Helper()
	return tpfleet(t, stdin, append(append([]string{name}, f.flags()...), args...)...)
}

// stores opens the buckets.
func (f *fleet) stores(t *testing.T) *store.Stores {
	t.Helper()
	s, err := store.New(f.buckets())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// buckets returns the options of the buckets.
func (f *fleet) buckets() []string {
	if f.folder != "" {
		return nil
	}
	return []string{f.options("lake"), f.options("traces")}
}

// upload puts files into the folder of the traces, and returns its URL.
func (f *fleet) upload(t *testing.T, files ...string) (url string) {
	t.Helper()
	stores := f.stores(t)
	for _, file := range files {
		if err := stores.Put(t.Context(), f.traces+filepath.Base(file), file); err != nil {
			t.Fatal(err)
		}
	}
	return f.traces
}

// lake opens the lake in this process.
func (f *fleet) lake(ctx context.Context, t *testing.T) *lake.Lake {
	t.Helper()
	o := lake.Options{Folder: f.folder, Namespace: cmp.Or(f.namespace, "traces"), Stores: f.stores(t)}
	if f.folder == "" {
		o.Catalog, o.Warehouse = f.catalog, "lake"
	}
	l, err := lake.Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// now returns all tables in SQL, as files does, at this moment.
func (f *fleet) now(ctx context.Context, t *testing.T) (func(table string) (string, error), error) {
	if f.folder != "" {
		all, err := f.listed()
		return func(table string) (string, error) { return f.reading(all[table]), nil }, err
	}
	if f.single {
		l := f.lake(ctx, t)
		ledger, err := f.rows(ctx, l, task.Ledger)
		return func(table string) (string, error) {
			rows, err := f.rows(ctx, l, table)
			if table == task.Ledger {
				rows = ledger
			}
			return named(ledger, rows), err
		}, err
	}
	r, err := http.Get(strings.TrimSuffix(f.catalog, "/iceberg") + "/api/v2/trees/main")
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	var main struct{ Reference struct{ Hash string } }
	if err := json.NewDecoder(r.Body).Decode(&main); err != nil {
		return nil, err
	}
	l, err := lake.Open(ctx, lake.Options{Catalog: f.catalog + "/main@" + main.Reference.Hash, Warehouse: "lake", Namespace: f.namespace, Stores: f.stores(t)})
	return func(table string) (string, error) { return f.files(ctx, l, table) }, err
}

// listed returns the files of all tables that the folder lists for tpconvert.
func (f *fleet) listed() (map[string][]string, error) {
	all, err := export.ReadLakeFiles(f.folder)
	if err != nil {
		return nil, err
	}
	tables := all.Namespaces[cmp.Or(f.namespace, "traces")]
	for _, files := range tables {
		for i, file := range files {
			files[i] = "file://" + filepath.Join(f.folder, file)
		}
	}
	return tables, nil
}

// source returns a table in SQL, as files does.
func (f *fleet) source(t *testing.T, l *lake.Lake) func(table string) string {
	return func(table string) string {
		text, err := f.files(t.Context(), l, table)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
}

// files returns a table in SQL: the files of its snapshot, or "" if there are none. If the ledger says which rows count, these.
func (f *fleet) files(ctx context.Context, l *lake.Lake, table string) (string, error) {
	if !f.single || table == task.Ledger {
		return f.rows(ctx, l, table)
	}
	ledger, err := f.rows(ctx, l, task.Ledger) // before the table
	if err != nil {
		return "", err
	}
	rows, err := f.rows(ctx, l, table)
	return named(ledger, rows), err
}

// rows returns all rows of a table in SQL.
func (f *fleet) rows(ctx context.Context, l *lake.Lake, table string) (string, error) {
	urls, err := l.Files(ctx, table)
	return f.reading(urls), err
}

// named returns the rows of a table that a ledger names, in SQL.
func named(ledger, rows string) string {
	switch {
	case rows == "" || rows == ledger:
		return rows
	case ledger == "":
		return "(FROM " + rows + " LIMIT 0)"
	}
	return "(SELECT r.* FROM " + rows + " r JOIN " + ledger + " l ON l.trace_id = r.trace_id AND l.trace_attempt = r.trace_attempt)"
}

// reading returns files in SQL. Those on the servers are read from the gateway's folder.
func (f *fleet) reading(urls []string) string {
	var paths []string
	for _, url := range urls {
		path, local := strings.CutPrefix(url, "file://")
		if !local {
			path = filepath.Join(f.root, strings.TrimPrefix(url, "s3://"))
		}
		paths = append(paths, "'"+path+"'")
	}
	if len(paths) == 0 {
		return ""
	}
	return "read_parquet([" + strings.Join(paths, ", ") + "])"
}
