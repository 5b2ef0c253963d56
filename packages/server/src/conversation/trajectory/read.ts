/** Converts the elements of a recording to a replay: both formats become one list of turns. Pure. */
import type { RecordedEvent, ReplayElement, ReplayFile } from '@parley/protocol'
import { V0_ROOT, type Recording } from '../../agent/index.ts'
import type { MessageContent } from '../record/record.ts'
import { EventReader } from './read-events.ts'
import { V0Reader } from './read-v0.ts'
import { Turns } from './turns.ts'

/** The first message of a recording, and the turns after it. */
export type Readable = { first: MessageContent; recording: Recording }

/** @throws never for input that `readReplay` has accepted. */
export function recordingOf({ elements, working_dir }: ReplayFile): Readable {
  const turns = new Turns()
  const events = new EventReader(turns)
  const v0 = new V0Reader(turns, rootOfV0(elements))
  for (const element of elements) {
    if (element.dialect === 'events') events.take(element.index, element.element)
    else if (element.dialect === 'v0-action') v0.takeAction(element.index, element.element)
    else v0.takeObservation(element.index, element.element)
  }
  const [first, ...rest] = turns.list()
  if (first?.by !== 'user') throw new Error('a recording that begins with no message was let through')
  return { first: first.content, recording: { working_dir: working_dir ?? directoryOf(elements), turns: rest } }
}

/** Returns the working directory of the recorded conversation, as the recording itself shows it. */
function directoryOf(elements: readonly ReplayElement[]): string | null {
  const events = elements.flatMap((element) => (element.dialect === 'events' ? [element.element] : []))
  if (events.length === 0) return rootOfV0(elements)
  return first(events, ofPrompt) ?? first(events, ofTerminal)
}

function first<T>(items: readonly T[], look: (item: T) => string | null): string | null {
  for (const item of items) {
    const found = look(item)
    if (found !== null) return found
  }
  return null
}

/** The system prompt names it (`agent/prompts/system-prompt.ts`). */
function ofPrompt(event: RecordedEvent): string | null {
  if (event.kind !== 'SystemPromptEvent') return null
  return /working directory is (\/.*?)\.(?:\s|$)/m.exec(event.dynamic_context?.text ?? '')?.[1] ?? null
}

function ofTerminal(event: RecordedEvent): string | null {
  if (event.kind !== 'ObservationEvent') return null
  const metadata = event.observation['metadata'] as { working_dir?: unknown } | null | undefined
  return typeof metadata?.working_dir === 'string' ? metadata.working_dir : null
}

function rootOfV0(elements: readonly ReplayElement[]): string {
  const seen = first(elements, (element) =>
    element.dialect === 'v0-observation' ? (element.element.extras?.metadata?.working_dir ?? null) : null,
  )
  return seen === null || seen === V0_ROOT || seen.startsWith(`${V0_ROOT}/`) ? V0_ROOT : seen
}
