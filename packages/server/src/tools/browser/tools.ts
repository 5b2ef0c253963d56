/** Descriptions of the browser tools for the model. */
import type { BrowserAction } from '@parley/protocol'

export type Described = {
  name: string
  action: BrowserAction['kind']
  description: string
  properties: Record<string, unknown>
  required?: string[]
  /** The tool changes nothing, neither in the browser nor at the site. */
  isReadOnly: boolean
  /** The tool can be repeated safely after a restart of the server. */
  isRepeatable: boolean
}

const index = {
  type: 'integer',
  minimum: 0,
  description: 'The number in front of the element in the last browser_get_state.',
}
const tab = { type: 'string', description: 'The id of the tab, from browser_list_tabs.' }
const LOOKS = { isReadOnly: true, isRepeatable: true }
const DOES = { isReadOnly: false, isRepeatable: false }

export const TOOLS: readonly Described[] = [
  {
    name: 'browser_navigate',
    action: 'BrowserNavigateAction',
    description:
      'Opens an address in the browser. The browser belongs to this conversation and stays open between calls, with its tabs ' +
      'and cookies. Use browser_get_state then to see what can be clicked, or browser_get_content to read.',
    properties: {
      url: { type: 'string', description: 'The address, with http or https; a server of this machine is fine.' },
      new_tab: { type: 'boolean', default: false, description: 'Open it in a new tab.' },
    },
    required: ['url'],
    isReadOnly: false,
    isRepeatable: true,
  },
  {
    name: 'browser_click',
    action: 'BrowserClickAction',
    description:
      'Clicks an element of the page. Look at the page again afterwards: indices may have changed. A link that opens a tab of ' +
      'its own makes that tab the current one.',
    properties: {
      index,
      new_tab: { type: 'boolean', default: false, description: 'For a link: open what it leads to in a new tab.' },
    },
    required: ['index'],
    ...DOES,
  },
  {
    name: 'browser_type',
    action: 'BrowserTypeAction',
    description:
      'Puts text into a field of the page, in the place of what it holds; chooses the option of that name in a list.',
    properties: { index, text: { type: 'string', description: 'The text; empty clears the field.' } },
    required: ['index', 'text'],
    ...DOES,
  },
  {
    name: 'browser_get_state',
    action: 'BrowserGetStateAction',
    description:
      'Shows the address, the title, the tabs, and what can be clicked and typed into, each with its index. Indices hold until ' +
      'the page changes or is looked at again.',
    properties: {
      include_screenshot: { type: 'boolean', default: false, description: 'Add a picture of what is visible.' },
    },
    ...LOOKS,
  },
  {
    name: 'browser_get_content',
    action: 'BrowserGetContentAction',
    description: 'Reads the text of the page. A long text comes in parts.',
    properties: {
      extract_links: { type: 'boolean', default: false, description: 'Add the links of the page and where they lead.' },
      start_from_char: {
        type: 'integer',
        minimum: 0,
        default: 0,
        description: 'Where to go on, as the part before said.',
      },
    },
    ...LOOKS,
  },
  {
    name: 'browser_scroll',
    action: 'BrowserScrollAction',
    description: 'Scrolls the page by most of a screen.',
    properties: { direction: { type: 'string', enum: ['down', 'up'], default: 'down' } },
    ...LOOKS,
  },
  {
    name: 'browser_go_back',
    action: 'BrowserGoBackAction',
    description: 'Goes back to the page before.',
    properties: {},
    ...DOES,
  },
  {
    name: 'browser_list_tabs',
    action: 'BrowserListTabsAction',
    description: 'Shows the tabs that are open; a star marks the current one.',
    properties: {},
    ...LOOKS,
  },
  {
    name: 'browser_switch_tab',
    action: 'BrowserSwitchTabAction',
    description: 'Makes another tab the current one.',
    properties: { tab_id: tab },
    required: ['tab_id'],
    ...LOOKS,
  },
  {
    name: 'browser_close_tab',
    action: 'BrowserCloseTabAction',
    description: 'Closes a tab.',
    properties: { tab_id: tab },
    required: ['tab_id'],
    ...DOES,
  },
  {
    name: 'browser_get_storage',
    action: 'BrowserGetStorageAction',
    description:
      'Shows which cookies and which local storage the browser has, for putting them back later. Their values are kept by the ' +
      'server and not shown.',
    properties: {},
    isReadOnly: false,
    isRepeatable: true,
  },
  {
    name: 'browser_set_storage',
    action: 'BrowserSetStorageAction',
    description:
      'Replaces all cookies and local storage by what is given, in the form that browser_get_storage shows. A value that stands ' +
      'there as kept is filled in.',
    properties: {
      storage_state: {
        type: 'object',
        description: 'An object with the lists `cookies` and `origins`.',
        properties: {
          cookies: { type: 'array', items: { type: 'object' } },
          origins: { type: 'array', items: { type: 'object' } },
        },
      },
    },
    required: ['storage_state'],
    ...DOES,
  },
  {
    name: 'browser_start_recording',
    action: 'BrowserStartRecordingAction',
    description: 'Begins to take pictures of the current tab whenever something in it changes.',
    properties: {},
    ...DOES,
  },
  {
    name: 'browser_stop_recording',
    action: 'BrowserStopRecordingAction',
    description: 'Ends the recording and says where its pictures are.',
    properties: {},
    ...DOES,
  },
]
