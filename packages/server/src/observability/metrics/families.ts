/**
 * Counters, histograms and gauges, and their Prometheus text. A family is one metric name with its label names; a series is one
 * combination of label values. Nothing is sampled or timed here.
 *
 * Invariant: the callers bound the values of each label, because a series is never removed.
 */

/** One line of the catalogue of metrics. */
export type Definition = {
  name: string
  type: 'counter' | 'gauge' | 'histogram'
  /** Names of the labels. */
  labels: readonly string[]
  /** One sentence for the text and for docs/operations.md. */
  help: string
}

/** One value of a family: its label values, in the order of their names, and the value. */
export type Sample = { labels: readonly string[]; value: number }

/** A family that can be written as text. */
export interface Family {
  readonly definition: Definition
  lines(): Iterable<string>
}

/** Upper bounds in seconds, from one statement of a store to a command that takes minutes. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300] as const

/** Separates label values in the key of a series; none of them contains it. */
const SEPARATOR = '\u0000'

export class Counter implements Family {
  readonly definition: Definition
  readonly #values = new Map<string, number>()

  constructor(definition: Definition) {
    this.definition = definition
    // A counter without labels begins at 0, so that the first increment is visible as one.
    if (definition.labels.length === 0) this.#values.set('', 0)
  }

  /** Adds to the series of these label values. */
  add(amount: number, ...labels: readonly string[]): void {
    const key = labels.join(SEPARATOR)
    this.#values.set(key, (this.#values.get(key) ?? 0) + amount)
  }

  *lines(): Iterable<string> {
    for (const [key, value] of this.#values)
      yield line(this.definition.name, this.definition.labels, valuesOf(key), value)
  }
}

type Distribution = { counts: Float64Array; sum: number }

export class Histogram implements Family {
  readonly definition: Definition
  readonly #series = new Map<string, Distribution>()

  constructor(definition: Definition) {
    this.definition = definition
  }

  /** Adds one duration in seconds to the series of these label values. */
  observe(seconds: number, ...labels: readonly string[]): void {
    const key = labels.join(SEPARATOR)
    let series = this.#series.get(key)
    if (series === undefined) {
      series = { counts: new Float64Array(BUCKETS.length + 1), sum: 0 }
      this.#series.set(key, series)
    }
    let bucket = 0
    while (bucket < BUCKETS.length && seconds > BUCKETS[bucket]!) bucket += 1
    series.counts[bucket]! += 1
    series.sum += seconds
  }

  *lines(): Iterable<string> {
    const { name, labels } = this.definition
    for (const [key, { counts, sum }] of this.#series) {
      const values = valuesOf(key)
      let count = 0
      for (const [bucket, own] of counts.entries()) {
        count += own
        const bound = BUCKETS[bucket] === undefined ? '+Inf' : String(BUCKETS[bucket])
        yield line(`${name}_bucket`, [...labels, 'le'], [...values, bound], count)
      }
      yield line(`${name}_sum`, labels, values, sum)
      yield line(`${name}_count`, labels, values, count)
    }
  }
}

/** The text of families, in the format 0.0.4 of Prometheus. A gauge is given as its samples at this moment. */
export function exposition(families: Iterable<Family>): string {
  const text: string[] = []
  for (const family of families) {
    const { name, type, help } = family.definition
    text.push(`# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}`, `# TYPE ${name} ${type}`)
    text.push(...family.lines())
  }
  return `${text.join('\n')}\n`
}

/** A gauge with the values that were read for one text. */
export const gauge = (definition: Definition, samples: readonly Sample[]): Family => ({
  definition,
  lines: () => samples.map(({ labels, value }) => line(definition.name, definition.labels, labels, value)),
})

const valuesOf = (key: string): string[] => (key === '' ? [] : key.split(SEPARATOR))

function line(name: string, labels: readonly string[], values: readonly string[], value: number): string {
  const pairs = labels.map((label, index) => `${label}="${escaped(values[index] ?? '')}"`)
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}`
}

const escaped = (value: string): string => value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
