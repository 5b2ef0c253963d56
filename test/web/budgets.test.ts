/** What a first visit loads, from the manifest of the build. Source: docs/architecture.md, Packages. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { webFiles } from '../../scripts/web-files.ts'
import { recordFacts } from '../facts.ts'

type Chunk = { file: string; src?: string; imports?: string[]; css?: string[]; isEntry?: boolean }

/** Bytes after gzip. */
const BUDGETS = { script: 105_000, conversation: 145_000, style: 14_000 }
const ROUTES = [
  'home',
  'new',
  'approvals',
  'not-found',
  'conversation',
  'settings-model',
  'settings/pages',
  'settings/policy',
  'settings/secrets',
  'welcome',
  'settings/agents',
] as const

const figures: Record<string, number> = {}
let sizes: Map<string, number>
let manifest: Record<string, Chunk>
beforeAll(async () => {
  const files = await webFiles()
  const lengths = new Map(files.map(({ name, bytes }) => [name, bytes.length]))
  sizes = new Map([...lengths].map(([name, length]) => [name, lengths.get(`${name}.gz`) ?? length]))
  const text = files.find(({ name }) => name === '.vite/manifest.json')!.bytes.toString()
  manifest = JSON.parse(text)
})

afterAll(() => recordFacts('web', figures))

/** The files that a page loads, with those that they import. */
function filesOf(page: string): { scripts: Set<string>; styles: Set<string> } {
  const scripts = new Set<string>()
  const styles = new Set<string>()
  const visit = (key: string): void => {
    const chunk = manifest[key]
    if (chunk === undefined) throw new Error(`the manifest has no ${key}`)
    if (scripts.has(chunk.file)) return
    scripts.add(chunk.file)
    for (const style of chunk.css ?? []) styles.add(style)
    for (const next of chunk.imports ?? []) visit(next)
  }
  visit('index.html')
  visit(`src/pages/${page}.tsx`)
  return { scripts, styles }
}

const total = (files: Set<string>): number => [...files].reduce((sum, file) => sum + sizes.get(file)!, 0)

test.each(ROUTES)('the page %s stays within the budgets of a first visit', (page) => {
  const { scripts, styles } = filesOf(page)
  const [script, style] = [total(scripts), total(styles)]
  figures[`${page}_script_bytes_gzip`] = script
  figures[`${page}_style_bytes_gzip`] = style
  expect(script).toBeLessThanOrEqual(page === 'conversation' ? BUDGETS.conversation : BUDGETS.script)
  expect(style).toBeLessThanOrEqual(BUDGETS.style)
})
