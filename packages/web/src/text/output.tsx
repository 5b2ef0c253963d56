/** Output of a command. What shows it is loaded when the first output is opened. */
import { type ComponentProps, lazy, Suspense } from 'react'
import type { AnsiOutput } from './ansi.tsx'

const Loaded = lazy(async () => ({ default: (await import('./ansi.tsx')).AnsiOutput }))

export const Output = (shown: ComponentProps<typeof AnsiOutput>) => (
  <Suspense>
    <Loaded {...shown} />
  </Suspense>
)
