/** Reading and changing files. */
import { FilePen, FileText } from 'lucide-react'
import { numberOf, textOf } from '../../log/read.ts'
import { Output } from '../../text/ansi.tsx'
import { type Difference, differenceOf, patchLines } from '../../text/diff-lines.ts'
import { Counts, Diff } from '../../text/diff.tsx'
import { conversation as words } from '../../words/conversation.en.ts'
import type { Call } from '../call.ts'
import type { ToolView } from './view.ts'

/** Path of the file of a call. */
const pathOf = ({ action, observation }: Call): string =>
  textOf(action['path']) || textOf(action['file_path']) || textOf(observation['path'])

const isReading = ({ action, kind }: Call) => kind === 'ReadFileAction' || action['command'] === 'view'

const differences = new WeakMap<object, Difference | null>()

/** What a call changes, or would change before it has a result; null when that cannot be told from it. */
export function changeOf(call: Call): Difference | null {
  const key = call.answer ?? call.event
  const known = differences.get(key)
  if (known !== undefined) return known
  const change = changeFrom(call)
  differences.set(key, change)
  return change
}

function changeFrom({ action, observation, kind }: Call): Difference | null {
  if (kind === 'ApplyPatchAction') return patchLines(textOf(action['patch']))
  const [old, fresh] = [observation['old_content'], observation['new_content']]
  if (typeof fresh === 'string') return differenceOf(typeof old === 'string' ? old : null, fresh)
  const replaced = action['old_str'] ?? action['old_string']
  const by = action['new_str'] ?? action['new_string']
  if (typeof replaced === 'string') return differenceOf(replaced, textOf(by))
  const whole = action['file_text'] ?? action['content']
  if (typeof whole === 'string') return differenceOf(null, whole)
  return action['command'] === 'insert'
    ? differenceOf(null, textOf(by), (numberOf(action['insert_line']) ?? 0) + 1)
    : null
}

function verbOf(call: Call): string {
  if (isReading(call)) return words.read
  const { action, observation, kind } = call
  if (call.status === 'running') return action['command'] === 'create' ? words.creates : words.edits
  if (action['command'] === 'create' || observation['is_new_file'] === true || observation['prev_exist'] === false)
    return words.created
  if (kind === 'WriteFileAction') return words.wrote
  return action['command'] === 'undo_edit' ? words.undid : words.edited
}

export const edit: ToolView = {
  icon: FilePen,
  summary: (call) => {
    const change = isReading(call) || call.status === 'failed' ? null : changeOf(call)
    return {
      verb: verbOf(call),
      object: pathOf(call) || firstFile(call) || words.nothing,
      isCode: true,
      facts: change === null ? null : <Counts difference={change} />,
    }
  },
  Body: EditBody,
}

export const reading: ToolView = { ...edit, icon: FileText }

function firstFile({ action }: Call): string {
  const files = [...textOf(action['patch']).matchAll(/^\*\*\* (?:Add|Update|Delete) File: (.+)$/gm)].map(
    ([, file]) => file,
  )
  return files.length > 1 ? `${files[0]} ${words.andMore(files.length - 1)}` : (files[0] ?? '')
}

function EditBody({ call }: { call: Call }) {
  const change = isReading(call) ? null : changeOf(call)
  return (
    <>
      {change === null ? null : <Diff difference={change} path={pathOf(call)} />}
      {call.output !== '' && (change === null || call.status === 'failed') ? (
        <Output text={call.output} label={words.resultOf(call.tool)} isWrapped={call.status === 'failed'} />
      ) : null}
    </>
  )
}
