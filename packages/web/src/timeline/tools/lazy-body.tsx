/** The open rows of tools that many logs have few of: what shows them is loaded with the first one that is opened. */
import { lazy, Suspense } from 'react'
import type * as bodies from './bodies.tsx'
import type { ToolView } from './view.ts'

export function lazyBody(name: keyof typeof bodies): ToolView['Body'] {
  const Body = lazy(async () => ({ default: (await import('./bodies.tsx'))[name] }))
  return ({ call }) => (
    <Suspense>
      <Body call={call} />
    </Suspense>
  )
}
