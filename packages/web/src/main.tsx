/** Entry of the web UI. */
// First: it declares the order of the layers.
import './ui/tokens.css'
import './ui/base.css'
import { QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { watchConnection } from './api/connection.ts'
import { makeQueryClient } from './api/query-client.ts'
import { hasLoginCode, signIn, takeLoginCode } from './api/server.ts'
import { openSession, staysSignedIn } from './api/session.ts'
import { App } from './app.tsx'
import { applyTheme } from './lib/theme.ts'
import { listenForKeys } from './ui/keys.ts'

async function start(): Promise<void> {
  const root = document.getElementById('root')
  if (root === null) throw new Error('the page has no element "root"')
  applyTheme()
  listenForKeys()
  watchConnection()
  // A login link that is pasted into an open page changes nothing but the fragment.
  addEventListener('hashchange', () => {
    if (hasLoginCode()) location.reload()
  })
  await openSession()
  const linkFailure = await followLoginLink()
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={makeQueryClient()}>
        <App linkFailure={linkFailure} />
      </QueryClientProvider>
    </StrictMode>,
  )
}

/** Signs in with the code of the address, if it has one. Resolves to why that failed, or to null. */
async function followLoginLink(): Promise<unknown> {
  const code = takeLoginCode()
  if (code === null) return null
  try {
    await signIn({ code }, staysSignedIn())
    return null
  } catch (error) {
    return error
  }
}

void start()
