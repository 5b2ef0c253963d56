/**
 * Writes the table of models from a checkout of github.com/anomalyco/models.dev: `node scripts/models.mjs FOLDER [FILE] [--keep]`.
 * Runs under the pinned Node. Only models of the providers below are taken that call tools and answer with text alone. `--keep`: models
 * of the table that the checkout lacks stay.
 */
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { parse } from 'smol-toml'

/** Folders of the checkout and the prefixes of Parley. Makers of models alone: other hosts offer the same models under the same names. */
const PROVIDERS = {
  alibaba: 'dashscope',
  anthropic: 'anthropic',
  deepseek: 'deepseek',
  google: 'gemini',
  minimax: 'minimax',
  mistral: 'mistral',
  moonshotai: 'moonshot',
  openai: 'openai',
  xai: 'xai',
  zai: 'zai',
}

const isTable = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)

/** `own` in front of `base`, member by member in nested tables. */
function merged(base, own) {
  const members = Object.entries(own).map(([key, value]) => [
    key,
    isTable(value) && isTable(base[key]) ? merged(base[key], value) : value,
  ])
  return { ...base, ...Object.fromEntries(members) }
}

/** The description of a model, with what it takes over from another one. */
function read(folder, file) {
  const own = parse(readFileSync(join(folder, file), 'utf8'))
  const { base_model: base } = own
  return typeof base === 'string' ? merged(read(folder, join('models', `${base}.toml`)), own) : own
}

function rowOf({ tool_call, status, limit, modalities, cost }) {
  const writes = modalities?.output ?? []
  if (tool_call !== true || status === 'deprecated' || writes.length !== 1 || writes[0] !== 'text') return null
  const { input, output, cache_read: cacheRead, cache_write: cacheWrite } = cost ?? {}
  return {
    ...(limit?.context > 0 ? { window: limit.context } : {}),
    ...(limit?.output > 0 ? { output: limit.output } : {}),
    images: (modalities.input ?? []).includes('image'),
    ...(input === undefined || output === undefined
      ? {}
      : { price: [input, output, ...(cacheRead === undefined ? [] : [cacheRead, cacheWrite ?? input])] }),
  }
}

/** Models by name with prefix, from a checkout. */
export function readModels(folder) {
  const rows = Object.entries(PROVIDERS).flatMap(([provider, prefix]) => {
    const models = join('providers', provider, 'models')
    if (!existsSync(join(folder, models))) throw new Error(`${join(folder, models)} does not exist`)
    return globSync('**/*.toml', { cwd: join(folder, models) }).flatMap((file) => {
      const row = rowOf(read(folder, join(models, file)))
      return row === null ? [] : [[`${prefix}/${file.slice(0, -'.toml'.length)}`, row]]
    })
  })
  // A dated copy says nothing new beside the name without the date.
  const names = new Set(rows.map(([name]) => name))
  const undated = (name) => name.replace(/-(\d{8}|\d{4}-\d{2}-\d{2})$/, '')
  return Object.fromEntries(rows.filter(([name]) => undated(name) === name || !names.has(undated(name))))
}

/** Names that are looked up as one; see `plain` in packages/server/src/llm/models/known-model.ts. */
const plain = (name) =>
  name
    .slice(name.lastIndexOf('/') + 1)
    .toLowerCase()
    .replace(/-(?:latest|\d{8}|\d{4}-\d{2}-\d{2})$/, '')
    .replaceAll('.', '-')

/** The models, and those of `before` that are none of them under another name. */
export function withKept(models, before) {
  const names = new Set(Object.keys(models).map(plain))
  return { ...Object.fromEntries(Object.entries(before).filter(([name]) => !names.has(plain(name)))), ...models }
}

const number = (value) => (value < 10_000 ? `${value}` : `${value}`.replaceAll(/(?<=\d)(?=(\d{3})+$)/g, '_'))
const value = (of) =>
  Array.isArray(of) ? `[${of.map(number).join(', ')}]` : typeof of === 'number' ? number(of) : `${of}`

function line([name, { window, output, images, price }]) {
  const members = Object.entries({ window, output, images, price }).filter(([, of]) => of !== undefined)
  return `  '${name}': { ${members.map(([key, of]) => `${key}: ${value(of)}`).join(', ')} },`
}

/** The source text of the table, sorted by name. */
export const render = (
  models,
) => `/** Facts about models, in the form of scripts/models.mjs, which writes them anew from a checkout of models.dev. */
import type { ModelFacts } from './model-facts.ts'

export const MODELS: Readonly<Record<string, ModelFacts>> = {
${Object.entries(models)
  .toSorted(([a], [b]) => (a < b ? -1 : 1))
  .map(line)
  .join('\n')}
}
`

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { positionals, values } = parseArgs({ allowPositionals: true, options: { keep: { type: 'boolean' } } })
  const [folder, file = fileURLToPath(new URL('../packages/server/src/llm/models/models.ts', import.meta.url))] =
    positionals
  if (folder === undefined) throw new Error('usage: node scripts/models.mjs FOLDER [FILE] [--keep]')
  const models = readModels(folder)
  const { MODELS: before } = values.keep ? await import(pathToFileURL(file).href) : { MODELS: {} }
  writeFileSync(file, render(withKept(models, before)))
}
