/** The answer that is being written. */
import { useEffect, useState, useSyncExternalStore } from 'react'
import { GrowingMarkdown } from '../text/markdown.tsx'
import { conversation as words } from '../words/conversation.en.ts'
import { useView } from './context.ts'
import { durationOf } from './format.ts'
import { Reasoning } from './reasoning.tsx'

export function StreamingRow() {
  const { log } = useView().conversation
  const tail = useSyncExternalStore(log.subscribe, log.tail)
  if (tail === null) return null
  return (
    <div className={`message agent streaming${tail.isBroken ? ' broken' : ''}`}>
      <div className="message-head">
        <span className="who">{words.from.agent}</span>
        {tail.isBroken ? <span>{words.interrupted}</span> : null}
      </div>
      {tail.reasoning === '' ? null : <Reasoning text={tail.reasoning} isLive={tail.text === ''} />}
      {tail.text === '' ? null : <GrowingMarkdown text={tail.text} />}
      {tail.tool === '' ? null : <p className="note">{words.writesCall(tail.tool)}</p>}
    </div>
  )
}

/** Shown while a run has begun and nothing is written yet. */
export function WorkingRow({ since }: { since: number }) {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) setNow(Date.now())
    }, 1000)
    return () => clearInterval(timer)
  }, [])
  const took = now - since
  return (
    <div className="working">
      <span className="pulse" aria-hidden />
      {words.working} {took < 2000 ? '' : durationOf(Math.floor(took / 1000) * 1000)}
    </div>
  )
}
