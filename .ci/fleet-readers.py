"""Read the tables of a fleet from its catalog with several readers: fleet-readers.py CATALOG S3 NAMESPACE QUERIES [single] <TABLES

The standard input has a line of JSON for each table: its name, its number of rows, and the sum of each column of numbers.
The keys of S3 are in the environment. Spark is one of the readers if FLEET_SPARK_JARS, Iceberg's jars, is set, and Trino
if FLEET_TRINO_URL is. QUERIES is a page whose blocks of SQL have to give rows in DuckDB, the same ones as in Spark and Trino.
If the tables are committed to one at a time, DuckDB and Spark have the views of that page, made by its blocks of Python.
"""

import decimal
import glob
import json
import os
import re
import sys
import urllib.request

import duckdb
import polars
import pyarrow.compute
from pyiceberg.catalog import load_catalog

catalog_url, s3, namespace, page, *single = sys.argv[1:]
key, secret = os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"]
wanted = [json.loads(line) for line in sys.stdin]

catalog = load_catalog("fleet", type="rest", uri=catalog_url, warehouse="lake", **{
    "s3.endpoint": "http://" + s3, "s3.access-key-id": key, "s3.secret-access-key": secret, "s3.region": "us-east-1",
    "py-io-impl": "pyiceberg.io.pyarrow.PyArrowFileIO"})
polars_options = {"aws_endpoint_url": "http://" + s3, "aws_access_key_id": key, "aws_secret_access_key": secret,
                  "aws_region": "us-east-1", "aws_allow_http": "true"}

duck = duckdb.connect(config={"allow_unsigned_extensions": "true"})
for extension in ("avro", "httpfs", "iceberg"):
    [path] = glob.glob(f"{sys.prefix}/lib/python3*/site-packages/duckdb_extension_*/**/{extension}.duckdb_extension", recursive=True)
    duck.execute(f"LOAD '{path}'")
duck.execute(f"CREATE SECRET (TYPE s3, KEY_ID '{key}', SECRET '{secret}', ENDPOINT '{s3}', URL_STYLE 'path', USE_SSL false, REGION 'us-east-1')")
duck.execute(f"ATTACH 'lake' AS lake (TYPE iceberg, ENDPOINT '{catalog_url}', AUTHORIZATION_TYPE 'none', ACCESS_DELEGATION_MODE 'none')")


with open(page) as text:
    page = text.read()
make_views = dict.fromkeys(("DuckDB", "Spark"), "")
source = f"lake.{namespace}."
attempt = ["trace_id", "trace_attempt"]
if single:
    _, _, views = page.partition("\n## One table at a time\n")
    for reader, code in re.findall(r"In (\w+):\n\n```python\n(.*?)```", views, re.DOTALL):
        make_views[reader] = code.replace("lake.traces", f"lake.{namespace}")
    source = ""
    ledger = catalog.load_table((namespace, "trace")).scan(selected_fields=tuple(attempt)).to_arrow()
    named = polars.from_arrow(ledger).lazy()


def pyiceberg(table, columns):
    rows = catalog.load_table((namespace, table)).scan().to_arrow()
    if single and table != "trace":
        rows = rows.join(ledger, attempt, join_type="left semi")
    exact = pyarrow.decimal128(38)
    sums = [pyarrow.compute.sum(rows[c].cast(exact)).as_py() for c in columns]
    return rows.num_rows, [None if s is None else int(s) for s in sums]


def read_polars(table, columns):
    rows = polars.scan_iceberg(catalog.load_table((namespace, table)), storage_options=polars_options)
    if single and table != "trace":
        rows = rows.join(named, on=attempt, how="semi")
    [[count, *sums]] = rows.select(
        polars.len(), *[polars.col(c).cast(polars.Int128).sum().alias(c) for c in columns], *[polars.col(c).is_not_null().any().alias(c + "?") for c in columns]).collect().rows()
    sums, there = sums[:len(columns)], sums[len(columns):]
    return count, [s if t else None for s, t in zip(sums, there)]


def read_duckdb(table, columns):
    sums = "".join(f', sum("{c}"::HUGEINT)' for c in columns)
    [[count, *sums]] = duck.execute(f"SELECT count(*){sums} FROM {source}{table}").fetchall()
    return count, [None if s is None else int(decimal.Decimal(s)) for s in sums]


def spark(queries):
    """Return a reader of all tables that asks Spark once, and the rows of the queries."""
    os.environ["JAVA_HOME"], os.environ["SPARK_LOCAL_IP"] = os.environ["FLEET_SPARK_JAVA"], "127.0.0.1"
    settings = {
        "spark.jars": os.environ["FLEET_SPARK_JARS"], "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "1",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1", "spark.log.level": "ERROR",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog", "spark.sql.catalog.lake.type": "rest",
        "spark.sql.catalog.lake.uri": catalog_url, "spark.sql.catalog.lake.warehouse": "lake",
        "spark.sql.catalog.lake.io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        "spark.sql.catalog.lake.s3.endpoint": "http://" + s3, "spark.sql.catalog.lake.s3.path-style-access": "true",
        "spark.sql.catalog.lake.s3.access-key-id": key, "spark.sql.catalog.lake.s3.secret-access-key": secret,
        "spark.sql.catalog.lake.client.region": "us-east-1"}
    from pyspark.sql import SparkSession
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    exec(make_views["Spark"], {"spark": session})

    def query(table):
        sums = [f"CAST(sum(CAST(`{c}` AS DECIMAL(38))) AS STRING)" for c in sorted(table["sums"])]
        name = table["table"]
        return f"SELECT '{name}', count(*), CAST(array({', '.join(sums)}) AS ARRAY<STRING>) FROM {source}`{name}`"

    if not single:
        [done] = session.sql(f"CALL lake.system.rewrite_data_files(table => '{namespace}.slice', strategy => 'sort', options => map('rewrite-all', 'true'))").collect()
        assert done.rewritten_data_files_count > 0, done
    rows = session.sql(" UNION ALL ".join(query(t) for t in wanted)).collect()
    found = {name: (count, [None if s is None else int(s) for s in sums]) for name, count, sums in rows}
    if not single:
        session.sql(f"USE lake.{namespace}")
    answers = [[tuple(row) for row in session.sql(q).collect()] for q in queries]
    session.stop()

    def read_spark(table, columns):
        return found[table]

    return read_spark, answers


def trino(query):
    """Return the rows that Trino gives."""
    headers = {"X-Trino-User": "fleet", "X-Trino-Catalog": "lake", "X-Trino-Schema": namespace}
    request = urllib.request.Request(os.environ["FLEET_TRINO_URL"] + "/v1/statement", query.encode(), headers)
    rows = []
    while True:
        with urllib.request.urlopen(request) as response:
            answer = json.load(response)
        if "error" in answer:
            raise RuntimeError(f"{answer['error']['message']}: {query}")
        rows += answer.get("data", [])
        if "nextUri" not in answer:
            return rows
        request = answer["nextUri"]


def read_trino(table, columns):
    sums = "".join(f', sum(CAST("{c}" AS DECIMAL(38)))' for c in columns)
    [[count, *sums]] = trino(f'SELECT count(*){sums} FROM "{table}"')
    return count, [None if s is None else int(s) for s in sums]


def rounded(rows):
    return [tuple(float(f"{v:.9g}") if isinstance(v, (float, decimal.Decimal)) else v for v in row) for row in rows]


failed = False
duck.execute(f"USE lake.{namespace}")
exec(make_views["DuckDB"], {"db": duck})
queries = re.findall(r"```sql\n(.*?)```", page, re.DOTALL)
answers = [rounded(duck.execute(q).fetchall()) for q in queries]
for query, rows in zip(queries, answers):
    if not rows:
        print(f"no rows: {query}")
        failed = True
readers, engines = [pyiceberg, read_polars, read_duckdb], {}
if os.environ.get("FLEET_SPARK_JARS"):
    reader, engines["Spark"] = spark(queries)
    readers.append(reader)
if os.environ.get("FLEET_TRINO_URL"):
    readers.append(read_trino)
    engines["Trino"] = [trino(q) for q in queries]
for engine, others in engines.items():
    for query, rows, other in zip(queries, answers, others):
        if sorted(map(repr, rounded(other))) != sorted(map(repr, rows)):
            print(f"DuckDB gives {rows}\nand {engine} {other}\nfor {query}")
            failed = True
for table in wanted:
    columns = sorted(table["sums"])
    want = table["rows"], [None if table["sums"][c] is None else int(table["sums"][c]) for c in columns]
    for read in readers:
        if (got := read(table["table"], columns)) != want:
            print(f"{read.__name__}: {table['table']}: {got}, want {want}")
            failed = True
sys.exit(failed)
