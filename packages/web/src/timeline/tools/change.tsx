/** What a call changes in a file. */
import { numberOf, textOf } from '../../log/read.ts'
import { type Difference, differenceOf, patchLines } from '../../text/diff-lines.ts'
import { Counts, Diff } from '../../text/diff.tsx'
import { Output } from '../../text/output.tsx'
import { conversation as words } from '../../words/conversation.en.ts'
import type { Call } from '../call.ts'
import { isReading, pathOf } from './edited-file.ts'

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

/** Numbers of the lines that were added and removed. */
export function ChangeCounts({ call }: { call: Call }) {
  const change = changeOf(call)
  return change === null ? null : <Counts difference={change} />
}

/** The changed lines, and the result of a call without any. */
export function ChangeBody({ call }: { call: Call }) {
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
