/** Moves the leaf of the conversation to an earlier event, or to the end of another branch. Source: docs/events.md, Stored tree events. */
import { useState } from 'react'
import { server, ServerError } from '../../api/server.ts'
import { textOf } from '../../log/read.ts'
import type { OpenConversation } from '../../socket/conversation.ts'
import { Choices } from '../../ui/choices.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { tree as words } from '../../words/tree.en.ts'
import { useView } from '../context.ts'
import { DialogForm } from './parts.tsx'
import { useAction } from './use-action.ts'

type Files = 'restore' | 'keep'

export function GoBackDialog({ seq, onClose }: { seq: number; onClose: () => void }) {
  const { conversation } = useView()
  const [files, setFiles] = useState<Files>('restore')
  // The leaf that the person saw when the dialog was opened.
  const [leaf] = useState(() => leafIdOf(conversation))
  const { isBusy, problem, run } = useAction()
  const explain = (error: unknown) => {
    const { leaf_event_id, reason } = error instanceof ServerError ? error.facts : {}
    if (leaf_event_id !== undefined) return words.moved
    if (reason !== 'no_checkpoint') return undefined
    setFiles('keep')
    return words.noCheckpoint
  }
  const goBack = () =>
    run(async () => {
      const event = await conversation.eventAt(seq)
      const body = { event_id: event?.id, restore_files: files === 'restore', expected_leaf_event_id: leaf }
      await server.call('POST', conversation.path('/navigate'), { body })
      onClose()
    }, explain)
  return (
    <Dialog title={words.goBackTitle} onClose={onClose}>
      <DialogForm problem={problem} isBusy={isBusy} submit={words.goBack} onSubmit={goBack} onClose={onClose}>
        <p>{words.goBackText}</p>
        <Choices<Files>
          label={words.files}
          choices={[
            { id: 'restore', title: words.restore, text: words.restoreText },
            { id: 'keep', title: words.keep, text: words.keepText },
          ]}
          chosen={files}
          onChoose={setFiles}
        />
      </DialogForm>
    </Dialog>
  )
}

/** The id of the leaf; null for the empty tree. */
function leafIdOf({ log }: OpenConversation): string | null {
  return log.event(log.leaf)?.id ?? (textOf(log.state()['leaf_event_id']) || null)
}
