/** Entry of the web UI. */
import { QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { makeQueryClient } from './api/query-client.ts'
import { openSession } from './api/session.ts'
import { App } from './app.tsx'
import './ui/tokens.css'
import './ui/base.css'

async function start(): Promise<void> {
  const root = document.getElementById('root')
  if (root === null) throw new Error('the page has no element "root"')
  await openSession()
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={makeQueryClient()}>
        <App />
      </QueryClientProvider>
    </StrictMode>,
  )
}

void start()
