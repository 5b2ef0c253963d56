/** Observation of a browser action, for the model and clients. Source: agent-core.md 8.10. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { textContent, type Observation } from '@parley/protocol'
import { keepIn, shorten, type Keep } from '../full-output.ts'
import type { ToolContext } from '../tool.ts'

type BrowserObservation = Extract<Observation, { kind: 'BrowserObservation' }>

/** Characters of one observation. */
export const MAX_TEXT_CHARS = 50_000

/** The result of an action. */
export type ActionResult = { text: string; screenshot?: Buffer }

/** @param notes events that no action caused, since the last observation */
export async function observe(
  { text, screenshot }: ActionResult,
  notes: readonly string[],
  context: ToolContext,
): Promise<BrowserObservation> {
  const keep: Keep = (name, whole) =>
    context.workspace.keepText === undefined
      ? keepIn(join(context.dataDir, 'browser', 'pages'))(name, whole)
      : context.workspace.keepText(name, whole, context.signal)
  const hide = context.services?.hide ?? ((unmasked: string) => Promise.resolve(unmasked))
  // Saved output passes no other masking.
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
