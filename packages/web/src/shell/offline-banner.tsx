/** One line at the top while the server does not answer. What is shown stays. */
import { useEffect, useState } from 'react'
import { tryNow, useConnection } from '../api/connection.ts'
import { age } from '../lib/time.ts'
import { announce } from '../ui/announce.tsx'
import { Button } from '../ui/button.tsx'
import { en } from '../words/en.ts'
import './offline-banner.css'

/** Milliseconds without an answer before it is mentioned. */
const SHORT_MS = 2_000

export function OfflineBanner() {
  const { downSince, nextTryAt } = useConnection()
  const now = useSeconds(downSince !== null)
  const isShown = downSince !== null && now - downSince >= SHORT_MS
  useEffect(() => {
    if (isShown) announce(en.offline.text, 'assertive')
  }, [isShown])
  if (!isShown) return null
  const passed = age(downSince, now)
  return (
    <div className="offline">
      <p>
        {en.offline.text} {passed !== 'now' && en.offline.stale(passed)}
      </p>
      <span className="offline-next">
        {nextTryAt === null ? en.offline.trying : en.offline.next(Math.max(0, Math.ceil((nextTryAt - now) / 1000)))}
      </span>
      <Button size="small" onClick={() => void tryNow()} disabled={nextTryAt === null}>
        {en.offline.now}
      </Button>
    </div>
  )
}

/** The time each second while `isOn`. */
function useSeconds(isOn: boolean): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    if (!isOn) return
    const tick = (): void => setNow(Date.now())
    tick()
    const timer = setInterval(tick, 1_000)
    return () => clearInterval(timer)
  }, [isOn])
  return now
}
