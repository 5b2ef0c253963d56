/** What the model and the clients read of a browser action. Source: agent-core.md 8.10. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { textContent, type Observation } from '@parley/protocol'
import { keepIn, shorten, type Keep } from '../terminal/full-output.ts'
import type { ToolContext } from '../tool.ts'

type BrowserObservation = Extract<Observation, { kind: 'BrowserObservation' }>

/** Characters of one answer. */
export const MAX_TEXT_CHARS = 50_000

/** What an action says. */
export type Said = { text: string; screenshot?: Buffer }

/** @param notes what happened by itself meanwhile */
export async function observe(
  { text, screenshot }: Said,
  notes: readonly string[],
  context: ToolContext,
): Promise<BrowserObservation> {
  const keep: Keep = (name, whole) =>
    context.workspace.keepText === undefined
      ? keepIn(join(context.dataDir, 'browser', 'pages'))(name, whole)
      : context.workspace.keepText(name, whole, context.signal)
  const hide = context.services?.hide ?? ((said: string) => Promise.resolve(said))
  // What is saved passes no other gate.
  const whole = await hide([text, ...notes.map((note) => `[${note}]`)].join('\n'))
  const short = await shorten(whole, keep, { maxChars: MAX_TEXT_CHARS, prefix: 'browser' })
  const data = screenshot?.toString('base64') ?? null
  const savedIn = screenshot === undefined ? null : await save(screenshot, context)
  const picture = { type: 'image' as const, image_urls: [`data:image/jpeg;base64,${data}`], cache_prompt: false }
  return {
    kind: 'BrowserObservation',
    content: [textContent(short.text), ...(data === null ? [] : [picture])],
    is_error: false,
    screenshot_data: data,
    full_output_save_dir: short.savedIn ?? savedIn,
  }
}

export function refusal(reason: string): BrowserObservation {
  return {
    kind: 'BrowserObservation',
    content: [textContent(reason)],
    is_error: true,
    screenshot_data: null,
    full_output_save_dir: null,
  }
}

async function save(screenshot: Buffer, { dataDir, callId }: ToolContext): Promise<string> {
  const folder = join(dataDir, 'browser', 'screenshots')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await writeFile(join(folder, `${callId.replaceAll(/[^\w-]/g, '_')}.jpg`), screenshot, { mode: 0o600 })
  return folder
}
