/** Asks the agent to commit the changes, and to push the branch. Source: docs/decisions/0022-a-hand-off-is-a-message.md, Decision. */
import { useState } from 'react'
import { messageOf } from '../../api/errors.ts'
import { sendMessage } from '../../compose/send.ts'
import { useView } from '../../timeline/context.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { handOff as words } from '../../words/hand-off.en.ts'
import { handOffMessage } from './hand-off-message.ts'

/** @param suggestion the first text of the commit message */
export function HandOffDialog({ suggestion, onClose }: { suggestion: string; onClose: () => void }) {
  const { conversation } = useView()
  const [text, setText] = useState(suggestion)
  const [pushes, setPushes] = useState(false)
  const [problem, setProblem] = useState('')
  const [isSending, setSending] = useState(false)
  const send = async (): Promise<void> => {
    setSending(true)
    try {
      await sendMessage(conversation, { text: handOffMessage(text.trim(), pushes), images: [] })
      onClose()
    } catch (error) {
      setProblem(messageOf(error))
      setSending(false)
    }
  }
  return (
    <Dialog title={words.title} onClose={onClose}>
      <form
        className="changes-hand-off"
        onSubmit={(event) => {
          event.preventDefault()
          void send()
        }}
      >
        <p>{words.lead}</p>
        <label>
          <span>{words.message}</span>
          <textarea rows={4} value={text} onChange={(event) => setText(event.target.value)} />
        </label>
        <label className="changes-push">
          <input type="checkbox" checked={pushes} onChange={(event) => setPushes(event.target.checked)} />
          {words.push}
        </label>
        {problem !== '' && (
          <p className="problem" role="alert">
            {problem}
          </p>
        )}
        <Button type="submit" look="primary" disabled={text.trim() === '' || isSending}>
          {pushes ? words.commitAndPush : words.commit}
        </Button>
      </form>
    </Dialog>
  )
}
