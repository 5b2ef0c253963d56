/**
 * What follows a summary in the view: the task list and the files in work, as the agent knew them at the end of the forgotten range. Pure.
 * Source: docs/condensation.md, What is given back.
 *
 * Rules
 *   G1. All of it comes from the events of the view, so it is the same whenever it is computed; nothing is read from the workspace.
 *   G2. What the events after the range show is left out. Edits among them apply to the state that is given back.
 *   G3. Its length is limited.
 */
import {
  isRecord,
  textOf,
  type GivenBack,
  type Observation,
  type ObservationEvent,
  type TreeEvent,
} from '@parley/protocol'
import { showsText, taskListText } from '../../tools/index.ts'
import { truncateMiddle } from '../truncate.ts'
import { isWithoutContent } from '../view/pruning.ts'
import type { Range } from './plan.ts'

/** Files with their content, and all files. */
const MAX_FILES = { shown: 6, named: 20 }
/** Characters of one file, and the share of all characters for the task list. */
const MAX_FILE_CHARS = 8_000
const TASK_SHARE = 1 / 3
/** A shorter beginning and end of a file say nothing about it. */
const LEAST_FILE_CHARS = 400

/** What a result says about a file. `text`: its content, or a part of it; null: not known from this result. */
type Use = { path: string; kind: 'viewed' | 'edited' | 'removed'; text: string | null }

/** Returns what follows the summary of a range; undefined for nothing. */
export function givenBack(view: readonly TreeEvent[], { start, end }: Range, maxChars: number): GivenBack | undefined {
  const files = new FilesInWork()
  let tasks: string | null = null
  for (const [index, event] of view.entries()) {
    // An earlier summary before the range stays in the view, with what follows it.
    if (event.kind === 'CondensationSummaryEvent' && index >= start) {
      tasks = event.given_back?.tasks ?? tasks
      for (const { path, text } of event.given_back?.files.toReversed() ?? []) files.use(path, text)
    }
    if (event.kind !== 'ObservationEvent') continue
    const { observation } = event
    const isKept = index >= end
    if (observation.kind === 'TaskTrackerObservation' && !observation.is_error)
      tasks = isKept || observation.task_list.length === 0 ? null : taskListText(observation.task_list)
    for (const use of usesIn(event)) files.take(use, isKept)
  }
  const list = tasks === null ? null : truncateMiddle(tasks, Math.floor(maxChars * TASK_SHARE))
  const given = { tasks: list, files: files.newest(maxChars - (list?.length ?? 0)) }
  return given.tasks === null && given.files.length === 0 ? undefined : given
}

class FilesInWork {
  /** The most recently used last. */
  readonly #texts = new Map<string, string | null>()

  use(path: string, text: string | null): void {
    this.#texts.delete(path)
    this.#texts.set(path, text)
  }

  /** @param isKept the result stays in the view */
  take({ path, kind, text }: Use, isKept: boolean): void {
    const known = this.#texts.get(path)
    if (kind === 'removed' || (isKept && kind === 'viewed' && text !== null)) this.#texts.delete(path)
    else if (!isKept) this.use(path, text)
    else if (known !== undefined) this.use(path, known)
  }

  newest(maxChars: number): GivenBack['files'] {
    const named: [path: string, text: string | null][] = []
    let left = maxChars
    for (const file of [...this.#texts].toReversed().slice(0, MAX_FILES.named)) {
      // Contents need the other half.
      if (left - file[0].length < maxChars / 2) break
      left -= file[0].length
      named.push(file)
    }
    return named.map(([path, known], index) => {
      const room = Math.min(MAX_FILE_CHARS, left)
      const isShown = known !== null && index < MAX_FILES.shown && (known.length <= room || room >= LEAST_FILE_CHARS)
      const text = isShown ? truncateMiddle(known, Math.floor(room)) : null
      left -= text?.length ?? 0
      return { path, text }
    })
  }
}

function usesIn(event: ObservationEvent): Use[] {
  const { observation } = event
  if (observation.is_error) return []
  switch (observation.kind) {
    case 'FileEditorObservation':
    case 'PlanningFileEditorObservation':
      return observation.path === null ? [] : editorUse(event, observation, observation.path)
    case 'ApplyPatchObservation':
      return patchUses(observation.commit)
    default:
      return []
  }
}

function editorUse(
  event: ObservationEvent,
  {
    command,
    content,
    prev_exist,
    new_content,
  }: Extract<Observation, { kind: `${'' | 'Planning'}FileEditorObservation` }>,
  path: string,
): Use[] {
  if (command !== 'view') {
    const isRemoved = command === 'undo_edit' && !prev_exist
    return [{ path, kind: isRemoved ? 'removed' : 'edited', text: new_content }]
  }
  if (isWithoutContent(event)) return [{ path, kind: 'viewed', text: null }]
  const text = textOf(content)
  return showsText(path, text) ? [{ path, kind: 'viewed', text }] : []
}

/** Reads the changes of a patch, which have no schema. */
function patchUses(commit: Readonly<Record<string, unknown>> | null): Use[] {
  const changes = commit?.['changes']
  return Object.entries(isRecord(changes) ? changes : {}).flatMap(([path, change]): Use[] => {
    if (!isRecord(change)) return []
    const { type, new_content, move_path } = change
    const text = typeof new_content === 'string' ? new_content : null
    if (type === 'delete') return [{ path, kind: 'removed', text: null }]
    if (typeof move_path !== 'string') return [{ path, kind: 'edited', text }]
    return [
      { path, kind: 'removed', text: null },
      { path: move_path, kind: 'edited', text },
    ]
  })
}
