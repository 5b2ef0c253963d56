import { useEffect, useState } from 'react'

/** The time, in milliseconds since 1970, renewed every `everyMs` while the page is visible. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const renew = (): void => {
      if (document.visibilityState === 'visible') setNow(Date.now())
    }
    const timer = setInterval(renew, everyMs)
    document.addEventListener('visibilitychange', renew)
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', renew)
    }
  }, [everyMs])
  return now
}
