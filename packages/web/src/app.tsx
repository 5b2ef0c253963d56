/** The pages, each loaded when it is first opened. */
import { lazy, Suspense } from 'react'
import { Route, Switch } from 'wouter'
import { ROUTES } from './routes.ts'

const Conversation = lazy(async () => ({ default: (await import('./pages/conversation.tsx')).ConversationPage }))

export function App() {
  return (
    <Suspense fallback={null}>
      <Switch>
        <Route path={ROUTES.conversation}>{({ id }) => <Conversation id={id} />}</Route>
      </Switch>
    </Suspense>
  )
}
