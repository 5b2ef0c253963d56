export { BrowserParams, browserToolSet } from './tool-set.ts'
