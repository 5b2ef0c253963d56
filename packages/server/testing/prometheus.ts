/** A strict reader of the text format 0.0.4 of Prometheus. */

export type ReadSample = { name: string; labels: Record<string, string>; value: number }
export type ReadFamily = { name: string; type: string; help: string; samples: ReadSample[] }

const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (NaN|[+-]?Inf|[+-]?[0-9.]+(?:e[+-]?[0-9]+)?)$/
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/

/** Reads a text. @throws Error with the line that the format does not allow */
export function readExposition(text: string): ReadFamily[] {
  if (!text.endsWith('\n')) throw new Error('the last line has no end')
  const families = new Map<string, ReadFamily>()
  let current: ReadFamily | null = null
  const seen = new Set<string>()
  for (const line of text.slice(0, -1).split('\n')) {
    const help = /^# HELP (\S+) (.+)$/.exec(line)
    const type = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(line)
    if (help !== null) {
      const [, name = '', words = ''] = help
      if (families.has(name)) throw new Error(`a second group of ${name}`)
      current = { name, type: '', help: words, samples: [] }
      families.set(name, current)
    } else if (type !== null) {
      if (current === null || current.name !== type[1] || current.type !== '')
        throw new Error(`type in a wrong place: ${line}`)
      current.type = type[2]!
    } else {
      const sample = readSample(line)
      const own = current?.type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']
      if (current === null || current.type === '' || !own.some((end) => sample.name === current!.name + end))
        throw new Error(`sample outside of its family: ${line}`)
      const key = line.slice(0, line.lastIndexOf(' '))
      if (seen.has(key)) throw new Error(`sample twice: ${key}`)
      seen.add(key)
      current.samples.push(sample)
    }
  }
  for (const family of families.values()) if (family.type === 'histogram') expectHistogram(family)
  return [...families.values()]
}

function readSample(line: string): ReadSample {
  const found = SAMPLE.exec(line)
  if (found === null) throw new Error(`not a sample: ${line}`)
  const [, name = '', within = '', value = ''] = found
  const labels: Record<string, string> = {}
  for (let rest = within; rest !== '';) {
    const label = LABEL.exec(rest)
    if (label === null || label[1]! in labels) throw new Error(`not a label: ${rest}`)
    labels[label[1]!] = label[2]!
    rest = rest.slice(label[0].length)
  }
  return { name, labels, value: Number(value.replace('Inf', 'Infinity')) }
}

/** Buckets of each series grow, and the last one is the count. */
function expectHistogram({ name, samples }: ReadFamily): void {
  const series = new Map<string, { bounds: number[]; counts: number[]; count?: number; sum?: number }>()
  for (const { name: own, labels, value } of samples) {
    const { le, ...rest } = labels
    const key = JSON.stringify(rest)
    const of = series.get(key) ?? { bounds: [], counts: [] }
    series.set(key, of)
    if (own.endsWith('_sum')) of.sum = value
    else if (own.endsWith('_count')) of.count = value
    else {
      of.bounds.push(Number((le ?? '').replace('Inf', 'Infinity')))
      of.counts.push(value)
    }
  }
  for (const [key, { bounds, counts, count, sum }] of series) {
    const isSorted = (values: number[], isStrict: boolean) =>
      values.every((value, at) => at === 0 || (isStrict ? value > values[at - 1]! : value >= values[at - 1]!))
    if (!isSorted(bounds, true) || bounds.at(-1) !== Infinity)
      throw new Error(`bounds of ${name} ${key}: ${bounds.join()}`)
    if (!isSorted(counts, false) || counts.at(-1) !== count)
      throw new Error(`counts of ${name} ${key}: ${counts.join()}`)
    if (sum === undefined) throw new Error(`no sum of ${name} ${key}`)
  }
}

/** The value of one sample; undefined when there is none. */
export const sampleOf = (families: readonly ReadFamily[], name: string, labels: Record<string, string> = {}) =>
  families
    .flatMap(({ samples }) => samples)
    .find(
      (sample) =>
        sample.name === name &&
        Object.entries(labels).every(([label, value]) => sample.labels[label] === value) &&
        Object.keys(sample.labels).length === Object.keys(labels).length,
    )?.value
