export { createApp, type App, type AppDeps } from './app.ts'

export { openMetricsListener } from './admin/metrics-listener.ts'
export type { Gateway } from './gateway/chat.ts'
export type { Machine } from './agent-server/machine.ts'
export { openWorkspaceSessions } from './agent-server/workspace-sessions.ts'
export { BUILT_UI } from './web-ui/web-ui.ts'
