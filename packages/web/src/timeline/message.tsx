/** A message of a person, of the agent or of the service. */
import { memo, useState } from 'react'
import { contentImages, contentText, type LogEvent, listOf, membersOf, numberOf, textOf, timeOf } from '../log/read.ts'
import { reasoningOf } from '../log/entry.ts'
import type { PendingMessage } from '../log/pending.ts'
import type { Row } from '../log/rows.ts'
import { ImageOf, Markdown } from '../text/markdown.tsx'
import { conversation as words } from '../words/conversation.en.ts'
import { useConversationState, useEvent } from './context.ts'
import { clockOf, fullTimeOf } from './format.ts'
import { Reasoning } from './reasoning.tsx'
import { RowMenu } from './row-menu.tsx'

/** A message with more lines is folded to its first ones. */
const FOLD_ABOVE = 600
const FOLDED = 40

export const MessageRow = memo(function MessageRow({ row }: { row: Row }) {
  const event = useEvent(row.seq)
  if (event === undefined) return <p className="message-loading">{words.from[row.from]}</p>
  const message = membersOf(event['llm_message'])
  const text = contentText(message['content'])
  return (
    <div className={`message ${row.from}`}>
      <MessageHead from={row.from} at={timeOf(event.timestamp)} sender={textOf(event['sender'])} />
      <Reasoned event={event} />
      <Text text={text} isPlain={row.from === 'user'} />
      <Images addresses={contentImages(message['content'])} />
      <Notes event={event} />
      <RowMenu row={row} text={text} />
    </div>
  )
})

/** Who wrote a message, and when. `at`: milliseconds since 1970. */
export function MessageHead({ from, at, sender }: { from: Row['from']; at: number | null; sender: string }) {
  return (
    <div className="message-head">
      <span className="who">{sender === '' ? words.from[from] : sender}</span>
      <time title={fullTimeOf(at)}>{clockOf(at)}</time>
    </div>
  )
}

function Reasoned({ event }: { event: LogEvent }) {
  const reasoning = reasoningOf(event)
  return reasoning === '' ? null : <Reasoning text={reasoning} />
}

/** `isPlain`: line ends of a person's message are kept as they were typed. */
function Text({ text, isPlain }: { text: string; isPlain: boolean }) {
  const [isWhole, setWhole] = useState(false)
  const lines = text.split('\n').length
  const isFolded = lines > FOLD_ABOVE && !isWhole
  const shown = isFolded ? text.split('\n').slice(0, FOLDED).join('\n') : text
  return (
    <>
      <div className={isPlain ? 'typed' : ''}>
        <Markdown text={shown} />
      </div>
      {lines > FOLD_ABOVE ? (
        <button type="button" className="text-button" aria-expanded={!isFolded} onClick={() => setWhole(!isWhole)}>
          {isFolded ? words.showAllLines(lines) : words.fold}
        </button>
      ) : null}
    </>
  )
}

function Images({ addresses }: { addresses: readonly string[] }) {
  if (addresses.length === 0) return null
  return (
    <div className="images">
      {addresses.map((address, index) => (
        <ImageOf key={index} address={address} text="" />
      ))}
    </div>
  )
}

/** Skills that the message activated, why a hook blocked it, and the critic's score. */
function Notes({ event }: { event: LogEvent }) {
  const blocked = useConversationState((state) => textOf(membersOf(state['blocked_messages'])[event.id]))
  const skills = listOf(event['activated_skills']).map(textOf)
  const score = numberOf(membersOf(event['critic_result'])['score'])
  return (
    <>
      {blocked === '' ? null : <p className="note problem">{words.blocked(blocked)}</p>}
      {skills.length === 0 ? null : <p className="note">{words.skills(skills.join(', '))}</p>}
      {score === null ? null : <p className="note">{words.score(score)}</p>}
    </>
  )
}

/** A message that is not stored yet: the same row becomes the stored one. */
export function PendingRow({ message }: { message: PendingMessage }) {
  return (
    <div className="message user pending">
      <MessageHead from="user" at={message.at} sender="" />
      <Text text={message.text} isPlain />
      <Images addresses={message.images} />
      {message.status === 'waiting' ? <p className="note">{words.sentWhenBack}</p> : null}
    </div>
  )
}
