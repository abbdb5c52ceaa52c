/** `holdfast/prometheus`: metrics of locks for Prometheus, with prom-client and without. */
export { exportPrometheus } from './export-prometheus.js'
export type { ExportOptions, PrometheusExport } from './export-prometheus.js'
export { holdfastMetrics } from './prom-client.js'
export type { MetricsOptions, RegistryLike } from './prom-client.js'
