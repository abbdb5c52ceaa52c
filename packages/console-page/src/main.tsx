/** Starts the page. */
import { render } from 'preact'
import { App } from './app.js'
import { Api } from './look/api.js'
import { Looker } from './look/looker.js'
import { readQuery } from './look/query.js'
import { takeToken } from './look/token.js'

const place = document.querySelector('#page')
if (place !== null) {
  const api = new Api(takeToken())
  const looker = new Looker(api, readQuery(location.search))
  looker.start()
  render(<App looker={looker} api={api} />, place)
}
