/** Sends a message of the person again with another text: leaf and message change in one request. Source: docs/events.md, Stored tree events. */
import { useState } from 'react'
import { server } from '../../api/server.ts'
import { newId } from '../../lib/new-id.ts'
import { contentImages, contentText, membersOf, textOf } from '../../log/read.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { Field } from '../../ui/field.tsx'
import { tree as words } from '../../words/tree.en.ts'
import { useEvent, useView } from '../context.ts'
import { DialogForm } from './parts.tsx'
import { useAction } from './use-action.ts'

export function EditDialog({ seq, onClose }: { seq: number; onClose: () => void }) {
  const { conversation } = useView()
  const event = useEvent(seq)
  const content = membersOf(event?.['llm_message'])['content']
  const [text, setText] = useState(() => contentText(content))
  // The same for each attempt: a message whose answer was lost is not sent twice.
  const [id] = useState(newId)
  const { isBusy, problem, run } = useAction()
  const send = () =>
    run(async () => {
      const images = contentImages(content)
      const parent = textOf(event?.['parent_id'])
      const body = {
        event_id: id,
        role: 'user',
        content: [{ type: 'text', text }, ...(images.length === 0 ? [] : [{ type: 'image', image_urls: images }])],
        run: true,
        parent_event_id: parent === '' || parent === '__root__' ? null : parent,
      }
      await server.call('POST', conversation.path('/events'), { body })
      onClose()
    })
  return (
    <Dialog title={words.editTitle} onClose={onClose}>
      <DialogForm
        problem={problem}
        isBusy={isBusy || text.trim() === ''}
        submit={words.send}
        onSubmit={send}
        onClose={onClose}
      >
        <p>{words.editText}</p>
        <Field label={words.editName}>
          {(control) => (
            <textarea {...control} value={text} rows={6} onChange={({ target }) => setText(target.value)} />
          )}
        </Field>
      </DialogForm>
    </Dialog>
  )
}
