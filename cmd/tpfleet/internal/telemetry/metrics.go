// Package telemetry tells what tpfleet does: metrics by OpenTelemetry, and structured logs.
package telemetry

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
)

// The instruments count nothing until Start, and nothing if metrics go nowhere.
var (
	meter       = otel.Meter("tpfleet")
	traces      = counter("tpfleet.traces", "{trace}", "Traces that were tried, by status.")
	failures    = counter("tpfleet.failures", "{trace}", "Traces that were not converted, by status and kind of error.")
	traceBytes  = counter("tpfleet.trace.size", "By", "Size of the traces that were tried.")
	rows        = counter("tpfleet.rows", "{row}", "Rows that were written for the tables.")
	fileBytes   = counter("tpfleet.file.size", "By", "Size of the files that were written for the tables.")
	lost        = counter("tpfleet.lost", "{event}", "Sum of the counts that mean data missing from the traces.")
	lossy       = counter("tpfleet.lossy", "{trace}", "Traces that lack data: something is lost, or was read in part.")
	conversions = seconds("tpfleet.conversion.duration", "Time that the conversion of a trace took.")
	queue       = must(meter.Int64UpDownCounter("tpfleet.queue", metric.WithUnit("{trace}"), metric.WithDescription("Traces that are planned and not tried yet.")))
	commits     = seconds("tpfleet.commit.duration", "Time from the first try of a transaction to its end, by operation and outcome.")
	conflicts   = counter("tpfleet.commit.conflicts", "{try}", "Tries of transactions that had to begin again.")
	retries     = counter("tpfleet.store.retries", "{request}", "Requests to stores that were made again.")
)

func must[T any](instrument T, err error) T {
	if err != nil {
		panic(err) // its name is wrong
	}
	return instrument
}

func counter(name, unit, description string) metric.Int64Counter {
	return must(meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(description)))
}

func seconds(name, description string) metric.Float64Histogram {
	return must(meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(description),
		metric.WithExplicitBucketBoundaries(0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000)))
}

// Result counts what a task made.
func Result(ctx context.Context, r *task.Result) {
	for i := range r.Traces {
		o := &r.Traces[i]
		status := attribute.String("status", o.Status)
		traces.Add(ctx, 1, metric.WithAttributes(status))
		traceBytes.Add(ctx, o.Bytes)
		lost.Add(ctx, o.Lost)
		if o.Lacks() {
			lossy.Add(ctx, 1)
		}
		if o.Seconds > 0 {
			conversions.Record(ctx, o.Seconds)
		}
		if kind := o.Kind(); kind != "" {
			failures.Add(ctx, 1, metric.WithAttributes(status, attribute.String("kind", kind)))
		}
	}
	for _, f := range r.Files {
		rows.Add(ctx, f.Rows)
		fileBytes.Add(ctx, f.Bytes)
	}
}

// Queue adds traces to those that are planned and not tried yet.
func Queue(ctx context.Context, n int) { queue.Add(ctx, int64(n)) }

// Commit notes the end of a transaction that began at a time.
func Commit(ctx context.Context, operation string, begun time.Time, tries int, err error) {
	outcome := "done"
	if err != nil {
		outcome = "failed"
	}
	op := attribute.String("operation", operation)
	commits.Record(ctx, time.Since(begun).Seconds(), metric.WithAttributes(op, attribute.String("outcome", outcome)))
	conflicts.Add(ctx, int64(tries-1), metric.WithAttributes(op))
}

// Retries counts requests to stores that were made again.
func Retries(ctx context.Context, n int64) { retries.Add(ctx, n) }

// Start sends metrics by OTLP if the environment names an endpoint, and serves them to Prometheus at address, unless that is
// "". The function that it returns sends the last ones.
func Start(ctx context.Context, address, version string) (stop func(context.Context) error, err error) {
	var options []sdk.Option
	var server http.Server
	if os.Getenv("OTEL_SDK_DISABLED") == "true" {
		return func(context.Context) error { return nil }, nil
	}
	if os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT") != "" {
		to, err := otlpmetrichttp.New(ctx)
		if err != nil {
			return nil, err
		}
		options = append(options, sdk.WithReader(sdk.NewPeriodicReader(to)))
	}
	if address != "" {
		registry := prometheus.NewRegistry()
		from, err := exporter.New(exporter.WithRegisterer(registry), exporter.WithoutScopeInfo())
		if err != nil {
			return nil, err
		}
		listener, err := net.Listen("tcp", address)
		if err != nil {
			return nil, err
		}
		options = append(options, sdk.WithReader(from))
		pages := http.NewServeMux()
		pages.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
		server = http.Server{Handler: pages, ReadHeaderTimeout: 10 * time.Second}
		go func() { _ = server.Serve(listener) }()
	}
	if len(options) == 0 {
		return func(context.Context) error { return nil }, nil
	}
	// What the environment says (OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES) comes last, and so counts.
	service, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "tpfleet"), attribute.String("service.version", version)), resource.WithFromEnv())
	if err != nil {
		return nil, err
	}
	provider := sdk.NewMeterProvider(append(options, sdk.WithResource(service))...)
	otel.SetMeterProvider(provider)
	return func(ctx context.Context) error { return errors.Join(provider.Shutdown(ctx), server.Close()) }, nil
}
