/** Makes a new conversation of the events up to one. Source: docs/operations.md, Checkpoints of files. */
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { refreshLists } from '../../api/queries.ts'
import { server } from '../../api/server.ts'
import { membersOf, textOf } from '../../log/read.ts'
import { conversationPath } from '../../routes.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { Field } from '../../ui/field.tsx'
import { tree as words } from '../../words/tree.en.ts'
import { useView } from '../context.ts'
import { DialogForm } from './parts.tsx'
import { useAction } from './use-action.ts'

export function ForkDialog({ seq, onClose }: { seq: number; onClose: () => void }) {
  const { conversation } = useView()
  const [, navigate] = useLocation()
  const client = useQueryClient()
  const [title, setTitle] = useState(() =>
    words.forkNameOf(titleIn(client.getQueryData(['conversations', 'one', conversation.id]))),
  )
  const [made, setMade] = useState<{ id: string; detail: string } | null>(null)
  const { isBusy, problem, run } = useAction()
  const fork = () =>
    run(async () => {
      const event = await conversation.eventAt(seq)
      const body = { from_event_id: event?.id, title: title.trim() || null }
      const answer = membersOf(await server.call('POST', conversation.path('/fork'), { body }))
      refreshLists(client)
      const { outcome, detail } = membersOf(answer['files'])
      const id = textOf(answer['id'])
      if (outcome === 'copied' && textOf(detail) === '') return navigate(conversationPath(id))
      setMade({ id, detail: textOf(detail) || words.forkShared })
    })
  if (made !== null)
    return (
      <Dialog title={words.forkTitle} onClose={onClose}>
        <DialogForm
          problem=""
          isBusy={false}
          submit={words.openFork}
          onSubmit={() => navigate(conversationPath(made.id))}
          onClose={onClose}
        >
          <p>{words.forked}</p>
          <p role="status">{made.detail}</p>
        </DialogForm>
      </Dialog>
    )
  return (
    <Dialog title={words.forkTitle} onClose={onClose}>
      <DialogForm problem={problem} isBusy={isBusy} submit={words.fork} onSubmit={fork} onClose={onClose}>
        <p>{words.forkText}</p>
        <p>{words.forkFiles}</p>
        <Field label={words.forkName}>
          {(control) => (
            <input {...control} value={title} maxLength={200} onChange={({ target }) => setTitle(target.value)} />
          )}
        </Field>
      </DialogForm>
    </Dialog>
  )
}

const titleIn = (known: unknown): string => textOf(membersOf(known)['title'])
