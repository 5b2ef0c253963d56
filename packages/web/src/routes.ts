/** Pages of the web UI by path. The server answers these paths with the page. */

/** Patterns in the form of the router; `:id` stands for one segment. */
export const ROUTES = {
  home: '/',
  create: '/new',
  welcome: '/welcome',
  conversation: '/c/:id',
  approvals: '/approvals',
  login: '/login',
  settings: '/settings',
  section: '/settings/:section',
} as const

export const MODEL_PATH = '/settings/model'

/** Path of the page of the model, which returns to a conversation and gives it the model that is saved. */
export const modelPathFrom = (id: string): string => `${MODEL_PATH}?conversation=${encodeURIComponent(id)}`

/** Path of the page of a new conversation that begins with the repository of another one. */
export const retryPath = (id: string): string => `/new?where=repository&from=${encodeURIComponent(id)}`

/** Path of the page of a conversation; `seq` is the position to open it at. */
export const conversationPath = (id: string, seq?: number): string =>
  `/c/${encodeURIComponent(id)}${seq === undefined ? '' : `?at=${seq}`}`
