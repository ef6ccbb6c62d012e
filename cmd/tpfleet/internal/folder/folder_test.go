package folder_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/folder"
	"github.com/tpconvert/tpconvert/export"
)

// TestCommitTransaction checks that a commit to several tables is carried out as a whole, also by another process.
func TestCommitTransaction(t *testing.T) {
	root, ctx := t.TempDir(), t.Context()
	if _, err := folder.Open(ctx, root, false); err == nil {
		t.Error("a folder without a lake is opened")
	}
	c, err := folder.Open(ctx, root, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.CreateNamespace(ctx, table.Identifier{"traces"}, nil); err != nil {
		t.Fatal(err)
	}
	schema := iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "id", Type: iceberg.PrimitiveTypes.Int64})
	names := []table.Identifier{{"traces", "a"}, {"traces", "b"}}
	for _, name := range names {
		if _, err := c.CreateTable(ctx, name, schema); err != nil {
			t.Fatal(err)
		}
		if _, err := c.CreateTable(ctx, name, schema); err == nil {
			t.Errorf("%s is made twice", name)
		}
	}
	// set returns a commit of a property to a table as it is now.
	set := func(name table.Identifier, value string) table.TableCommit {
		of, err := c.LoadTable(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		tx := of.NewTransaction()
		if err := tx.SetProperties(iceberg.Properties{"p": value}); err != nil {
			t.Fatal(err)
		}
		commit, err := tx.TableCommit()
		if err != nil {
			t.Fatal(err)
		}
		return commit
	}
	missing := set(names[1], "bad")
	missing.Identifier = table.Identifier{"traces", "none"}
	if err := c.CommitTransaction(ctx, []table.TableCommit{set(names[0], "bad"), missing}); err == nil {
		t.Error("a commit to a table that does not exist")
	}
	if err := c.CommitTransaction(ctx, []table.TableCommit{set(names[0], "good"), set(names[1], "good")}); err != nil {
		t.Fatal(err)
	}
	other, err := folder.Open(ctx, root, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		of, err := other.LoadTable(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		if p := of.Properties()["p"]; p != "good" {
			t.Errorf("%s has %q", name, p)
		}
		if _, err := os.Stat(folder.Path(of.MetadataLocation())); err != nil {
			t.Error(err)
		}
	}
	// The list of files cannot be written, but the commit is done.
	late := set(names[0], "late")
	if err := errors.Join(os.Remove(filepath.Join(root, "files.json")), os.MkdirAll(filepath.Join(root, "files.json", "in the way"), 0o755)); err != nil {
		t.Fatal(err)
	}
	if err := c.CommitTransaction(ctx, []table.TableCommit{late}); !errors.Is(err, folder.ErrList) {
		t.Errorf("the list was written over a folder: %v", err)
	}
	if of, err := other.LoadTable(ctx, names[0]); err != nil || of.Properties()["p"] != "late" {
		t.Errorf("%v, %v", of, err)
	}
	if err := os.RemoveAll(filepath.Join(root, "files.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := folder.Open(ctx, root, false); err != nil {
		t.Fatal(err)
	}
	list, err := export.ReadLakeFiles(root)
	if err != nil || list == nil {
		t.Errorf("%s: %v, %v", filepath.Join(root, "files.json"), list, err)
	}
}
