/** The pages, each loaded when it is first opened, inside of the shell; before that the login. */
import { type ComponentType, lazy, Suspense } from 'react'
import { Redirect, Route, Switch, useLocation } from 'wouter'
import { useMe } from './api/me.ts'
import { ServerError } from './api/server.ts'
import { ROUTES } from './routes.ts'
import { Shell } from './shell/shell.tsx'
import { Dialog } from './ui/dialog.tsx'
import { ErrorBoundary } from './ui/error-boundary.tsx'
import { Failure, useLate } from './ui/listing.tsx'
import { en } from './words/en.ts'

const page = <P extends object>(load: () => Promise<ComponentType<P>>) => lazy(async () => ({ default: await load() }))

const LoginPage = page(async () => (await import('./pages/login.tsx')).LoginPage)
const LoginForm = page(async () => (await import('./pages/login.tsx')).LoginForm)
const Home = page(async () => (await import('./pages/home.tsx')).HomePage)
const New = page(async () => (await import('./pages/new.tsx')).NewPage)
const Approvals = page(async () => (await import('./pages/approvals.tsx')).ApprovalsPage)
const Conversation = page(async () => (await import('./pages/conversation.tsx')).ConversationPage)
const Settings = page(async () => (await import('./pages/settings/pages.tsx')).SettingsPages)
const NotFound = page(async () => (await import('./pages/not-found.tsx')).NotFoundPage)
const Welcome = page(async () => (await import('./pages/welcome.tsx')).WelcomePage)

/** @param linkFailure why the login link of this page did not work */
export function App({ linkFailure }: { linkFailure: unknown }) {
  const me = useMe()
  const isRefused = me.error instanceof ServerError && me.error.status === 401
  if (me.data === undefined && isRefused)
    return (
      <ErrorBoundary of="login">
        <Suspense>
          <LoginPage failure={linkFailure} />
        </Suspense>
      </ErrorBoundary>
    )
  if (me.data === undefined) return <Opening error={me.error} onRetry={() => void me.refetch()} />
  return (
    <Shell>
      <Pages />
      {isRefused && (
        <Dialog title={en.login.again} canClose={false} onClose={() => {}}>
          <p>{en.login.ended}</p>
          <Suspense>
            <LoginForm />
          </Suspense>
        </Dialog>
      )}
    </Shell>
  )
}

function Pages() {
  const [path] = useLocation()
  return (
    <ErrorBoundary of={path}>
      <Suspense fallback={null}>
        <Switch>
          <Route path={ROUTES.home} component={Home} />
          <Route path={ROUTES.create} component={New} />
          <Route path={ROUTES.approvals} component={Approvals} />
          <Route path={ROUTES.settings} component={Settings} />
          <Route path={ROUTES.section} component={Settings} />
          <Route path={ROUTES.conversation}>{({ id }) => <Conversation key={id} id={id} />}</Route>
          <Route path={ROUTES.login}>
            <Redirect to={ROUTES.home} replace />
          </Route>
          <Route path={ROUTES.welcome} component={Welcome} />
          <Route>
            <NotFound />
          </Route>
        </Switch>
      </Suspense>
    </ErrorBoundary>
  )
}

/** Until the server has said who the page acts for. */
function Opening({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  const isLate = useLate()
  if (error != null)
    return (
      <main className="page">
        <h1>{en.name}</h1>
        <Failure error={error} onRetry={onRetry} />
      </main>
    )
  return <main aria-busy="true">{isLate && <h1 className="hidden-text">{en.loading}</h1>}</main>
}
