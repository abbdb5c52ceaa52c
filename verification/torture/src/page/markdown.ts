/** Markdown of the guarantees page. */
import type { AnyProperty } from '../command-line/promised.js'

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`
}

export function anchor(store: string, cell: string): string {
  return `${store}-${cell}`
}

export function counts(found: Partial<Record<AnyProperty, number>>): string {
  const parts = Object.entries(found).map(([property, count]) => `${count} ${property}`)
  return parts.length === 0 ? 'none' : parts.join(', ')
}

export function countOf(found: Partial<Record<AnyProperty, number>>): number {
  return Object.values(found).reduce((sum, count) => sum + count, 0)
}

export function minutes(seconds: number): string {
  return seconds < 100 ? `${seconds} s` : `${Math.round(seconds / 60)} min`
}
