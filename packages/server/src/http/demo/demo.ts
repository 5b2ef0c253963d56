/** The demo of a user. Source: docs/web-ui.md, The first minute. */
import { deleteDemo, startDemo } from '@parley/protocol'
import type { Demo } from '../../demo/index.ts'
import { ok, route } from '../core/route.ts'
import type { Route } from '../core/web.ts'

export const demoRoutes = (demo: Pick<Demo, 'start' | 'delete'>): Route[] => [
  route(startDemo, async (_call, actor) => {
    const { created, id } = await demo.start(actor)
    return { status: created ? 201 : 200, about: id, body: { conversation_id: id } }
  }),
  route(deleteDemo, async (_call, actor) => {
    await demo.delete(actor)
    return ok(deleteDemo, undefined)
  }),
]
