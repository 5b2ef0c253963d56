/** A comment on lines of a file, which the agent gets as a message. */
import { useState } from 'react'
import { messageOf } from '../../api/errors.ts'
import { sendMessage } from '../../compose/send.ts'
import { useView } from '../../timeline/context.ts'
import { announce } from '../../ui/announce.tsx'
import { Button } from '../../ui/button.tsx'
import { changes as words } from '../../words/changes.en.ts'
import type { Range } from './items.ts'

export function CommentForm({ range, quoted, onEnd }: { range: Range; quoted: string; onEnd: () => void }) {
  const { conversation } = useView()
  const [text, setText] = useState('')
  const [problem, setProblem] = useState('')
  const [isSending, setSending] = useState(false)
  const { path, from, to, side } = range
  const title = words.commentOn(from, to)
  const canSend = text.trim() !== '' && !isSending
  const send = async (): Promise<void> => {
    setSending(true)
    try {
      const message = words.message(path, from, to, side, quoted, text.trim())
      await sendMessage(conversation, { text: message, images: [] })
      announce(words.sent)
      onEnd()
    } catch (error) {
      setProblem(messageOf(error))
      setSending(false)
    }
  }
  return (
    <form
      className="changes-comment"
      aria-label={title}
      onSubmit={(event) => {
        event.preventDefault()
        if (canSend) void send()
      }}
    >
      <label>
        <span>{title}</span>
        <textarea
          // oxlint-disable-next-line jsx-a11y/no-autofocus -- The person has just asked for the field.
          autoFocus
          rows={3}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === 'Escape') onEnd()
            if (event.key === 'Enter' && (event.metaKey || event.ctrlKey) && canSend) void send()
            if (event.key === 'Escape') event.preventDefault()
          }}
        />
      </label>
      {problem !== '' && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      <div className="changes-comment-actions">
        <span>{words.commentHint}</span>
        <Button size="small" look="quiet" onClick={onEnd}>
          {words.cancel}
        </Button>
        <Button size="small" look="primary" type="submit" disabled={!canSend}>
          {words.send}
        </Button>
      </div>
    </form>
  )
}
