/** A JSON value. What shows it is loaded when the first one is opened. */
import { type ComponentProps, lazy, Suspense } from 'react'
import type { JsonTree } from './json-tree.tsx'

const Loaded = lazy(async () => ({ default: (await import('./json-tree.tsx')).JsonTree }))

export const Json = (shown: ComponentProps<typeof JsonTree>) => (
  <Suspense>
    <Loaded {...shown} />
  </Suspense>
)
