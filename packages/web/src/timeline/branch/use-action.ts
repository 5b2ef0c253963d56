/** One request of a dialog: whether it is under way, and why it failed. */
import { useState } from 'react'
import { messageOf } from '../../api/server.ts'

type Action = {
  readonly isBusy: boolean
  /** Empty without a failure. */
  readonly problem: string
  /** Runs `work`. `explain`: a sentence for a failure; undefined: the server's own. */
  readonly run: (work: () => Promise<void>, explain?: (error: unknown) => string | undefined) => void
}

export function useAction(): Action {
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState('')
  const run: Action['run'] = (work, explain) => {
    setBusy(true)
    setProblem('')
    work()
      .catch((error: unknown) => setProblem(explain?.(error) ?? messageOf(error)))
      .finally(() => setBusy(false))
  }
  return { isBusy, problem, run }
}
