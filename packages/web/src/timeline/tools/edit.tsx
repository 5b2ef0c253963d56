/** Reading and changing files. What compares texts is loaded with the first change that is visible. */
import { lazy, Suspense } from 'react'
import { FilePen, FileText } from '../../ui/icons.ts'
import { textOf } from '../../log/read.ts'
import { conversation as words } from '../../words/conversation.en.ts'
import type { Call } from '../call.ts'
import { isReading, pathOf } from './edited-file.ts'
import type { ToolView } from './view.ts'

const ChangeCounts = lazy(async () => ({ default: (await import('./change.tsx')).ChangeCounts }))
const ChangeBody = lazy(async () => ({ default: (await import('./change.tsx')).ChangeBody }))

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
  summary: (call) => ({
    verb: verbOf(call),
    object: pathOf(call) || firstFile(call) || words.nothing,
    isCode: true,
    facts:
      isReading(call) || call.status === 'failed' ? null : (
        <Suspense>
          <ChangeCounts call={call} />
        </Suspense>
      ),
  }),
  Body: ({ call }) => (
    <Suspense>
      <ChangeBody call={call} />
    </Suspense>
  ),
}

export const reading: ToolView = { ...edit, icon: FileText }

function firstFile({ action }: Call): string {
  const files = [...textOf(action['patch']).matchAll(/^\*\*\* (?:Add|Update|Delete) File: (.+)$/gm)].map(
    ([, file]) => file,
  )
  return files.length > 1 ? `${files[0]} ${words.andMore(files.length - 1)}` : (files[0] ?? '')
}
