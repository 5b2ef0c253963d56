/** Views of the editor: a file with line numbers, an image, a directory. */
import type { ImageContent, TextContent } from '@parley/protocol'
import { textContent } from '@parley/protocol'
import { join } from 'node:path'
import { fileImage } from '../../llm/index.ts'
import type { Workspace } from '../../workspace/index.ts'
import { countLines, numbered } from './edits.ts'
import { Refusal } from '../refusal.ts'
import type { ToolContext } from '../tool.ts'

/** Characters of one view. Source: agent-core.md 8.3. */
const MAX_CHARS = 16_000
const MAX_DEPTH = 2
const MAX_ENTRIES = 1000

/**
 * Returns the image in a file for the model; null for a file that is none.
 * @throws Refusal when models cannot see it: it says what the file is, and what to do.
 */
export async function showImage(
  path: string,
  bytes: Uint8Array,
  { services, signal }: Pick<ToolContext, 'services' | 'signal'>,
): Promise<(TextContent | ImageContent)[] | null> {
  const image = await fileImage(path, bytes, services?.shrinker ?? null, signal)
  if (image === null) return null
  if (image.kind === 'refused') throw new Refusal(`${path} ${image.refusal}`)
  const note = image.size === null ? '' : `, made smaller from ${image.size.from} to ${image.size.to} pixels`
  return [textContent(`The image ${path}${note}:`), { type: 'image', image_urls: [image.url], cache_prompt: false }]
}

const headOf = (path: string): string => `${path}, as \`cat -n\` shows it:`

/** Returns whether a result shows the text of a file, and not a directory or an image. */
export const showsText = (path: string, result: string): boolean => result.startsWith(`${headOf(path)}\n`)

/** Returns the numbered lines of a file; all of them, or the two line numbers of `range` (−1: the last line). */
export function showText(path: string, text: string, range: readonly number[] | null): string {
  const count = countLines(text)
  const { first, last, note } = range === null ? { first: 1, last: count, note: '' } : checkRange(range, count)
  return `${headOf(path)}\n${clipLines(numbered(text, first, last))}${note}`
}

function checkRange(range: readonly number[], count: number): { first: number; last: number; note: string } {
  const [first, end] = range
  if (range.length !== 2 || first === undefined || end === undefined) {
    throw new Refusal('view_range must be a list of two integers: the first and the last line.')
  }
  if (first < 1 || first > count)
    throw new Refusal(`view_range must start between 1 and ${count}, the number of lines of the file.`)
  if (end === -1) return { first, last: count, note: '' }
  if (end < first) throw new Refusal('view_range must not end before it starts; use -1 for the end of the file.')
  const note = end > count ? `\nNOTE: the file ends at line ${count}.` : ''
  return { first, last: Math.min(end, count), note }
}

/** Limits numbered lines to the characters of one view, with a hint how to see the rest. */
export function clipLines(rows: string): string {
  if (rows.length <= MAX_CHARS) return rows
  const lineEnd = rows.lastIndexOf('\n', MAX_CHARS)
  const shown = rows.slice(0, lineEnd > 0 ? lineEnd : MAX_CHARS)
  const lastLine = shown
    .slice(shown.lastIndexOf('\n') + 1)
    .trimStart()
    .split('\t', 1)[0]
  return `${shown}\n[Cut after ${MAX_CHARS} characters, in line ${lastLine}. Use view_range, or search with the terminal, to see more.]`
}

/** Lists a directory two levels deep, without hidden entries. */
export async function showDirectory(path: string, workspace: Workspace, signal: AbortSignal): Promise<string> {
  const rows: string[] = []
  let hidden = 0
  const walk = async (dir: string, depth: number): Promise<void> => {
    for (const { name, kind } of await entries(dir, depth, workspace, signal)) {
      if (rows.length >= MAX_ENTRIES) return
      if (name.startsWith('.')) {
        if (depth === 1) hidden++
        continue
      }
      const child = join(dir, name)
      rows.push(kind === 'directory' ? `${child}/` : child)
      if (kind === 'directory' && depth < MAX_DEPTH) await walk(child, depth + 1)
    }
  }
  await walk(path, 1)
  const listing = [`${path}/`.replace(/\/+$/, '/'), ...rows].join('\n')
  const cut = rows.length >= MAX_ENTRIES ? `\n[Only the first ${MAX_ENTRIES} entries are shown.]` : ''
  const note =
    hidden === 0
      ? ''
      : `\n\n${hidden} hidden ${hidden === 1 ? 'entry is' : 'entries are'} not shown; use \`ls -a\` to see them.`
  return `Files and directories in ${path}, two levels deep:\n${listing}${cut}${note}`
}

async function entries(
  dir: string,
  depth: number,
  workspace: Workspace,
  signal: AbortSignal,
): ReturnType<Workspace['list']> {
  try {
    return (await workspace.list(dir, signal)).toSorted((a, b) => (a.name < b.name ? -1 : 1))
  } catch (error) {
    // A subdirectory that cannot be read is left out; the requested directory must be readable.
    if (depth === 1 || signal.aborted) throw error
    return []
  }
}
